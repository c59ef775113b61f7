package io.millrace.broker.partition;

import io.millrace.broker.state.message.ProducerExpireEntry;
import io.millrace.broker.state.message.TimeEntry;
import io.millrace.protocol.batch.ControlBatch;
import io.millrace.protocol.batch.ControlType;
import java.nio.ByteBuffer;

/**
 * When a leader puts log time, and with it the expiry of producers, in front of a batch. Log time
 * never decreases: while the leader's clock is behind it, no TIME entry is due.
 *
 * <p>Threads: guarded by the sequencer's state lock.
 */
final class LogClock {

  /** Log time is that exact: a TIME entry precedes the first batch after so long. */
  static final long INTERVAL_MILLIS = 1000;

  private final long producerExpiryMillis;
  private long applied;
  private long proposed;
  private boolean expiryProposed;

  LogClock(long producerExpiryMillis) {
    this.producerExpiryMillis = producerExpiryMillis;
  }

  /** Log time of the last applied entry. */
  long applied() {
    return applied;
  }

  void timeApplied(long logTime) {
    applied = logTime;
  }

  boolean timeDue(long now) {
    return now - Math.max(applied, proposed) >= INTERVAL_MILLIS;
  }

  boolean expiryDue(long now, long oldestProducerLogTime) {
    return !expiryProposed && oldestProducerLogTime < now - producerExpiryMillis;
  }

  ByteBuffer timeEntry(long now) {
    return ControlBatch.encode(
        ControlType.TIME, TimeEntry.newBuilder().setLogTimeMillis(now).build());
  }

  ByteBuffer expiryEntry(long now) {
    return ControlBatch.encode(
        ControlType.PRODUCER_EXPIRE,
        ProducerExpireEntry.newBuilder()
            .setIdleSinceBeforeMillis(now - producerExpiryMillis)
            .build());
  }

  void timeProposed(long logTime) {
    proposed = logTime;
  }

  void expiryProposed() {
    expiryProposed = true;
  }

  void expiryApplied() {
    expiryProposed = false;
  }

  /** What was proposed may never be applied: only applied log time counts again. */
  void forgetProposed() {
    proposed = 0;
    expiryProposed = false;
  }
}
