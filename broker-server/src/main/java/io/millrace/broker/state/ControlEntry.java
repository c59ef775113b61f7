package io.millrace.broker.state;

import com.google.protobuf.InvalidProtocolBufferException;
import io.millrace.broker.state.message.LogStartEntry;
import io.millrace.broker.state.message.ProducerExpireEntry;
import io.millrace.broker.state.message.TimeEntry;
import io.millrace.protocol.batch.ControlBatch;
import io.millrace.protocol.batch.ControlRecord;
import io.millrace.protocol.batch.ControlType;
import io.millrace.protocol.batch.InvalidBatchException;
import java.nio.ByteBuffer;

/** A control batch as the state machine of a partition understands it. */
public sealed interface ControlEntry {

  /** Log time reaches a value; a smaller one than before changes nothing. */
  record Time(long logTimeMillis) implements ControlEntry {}

  /** Records below are gone; a smaller value than before changes nothing. */
  record LogStart(long logStart) implements ControlEntry {}

  /** Producers whose last batch has a smaller log time are forgotten. */
  record ProducerExpire(long idleSinceBeforeMillis) implements ControlEntry {}

  /** Only takes a log index. */
  record Neutral(ControlType type) implements ControlEntry {}

  /**
   * @throws UnknownControlEntryException for what this version does not know or cannot read:
   *     skipping it would let replicas diverge, so the replica must stop
   */
  static ControlEntry decode(ByteBuffer batch) {
    try {
      ControlRecord record = ControlBatch.decode(batch);
      if (record.version() != ControlBatch.KEY_VERSION || record.type() == null) {
        throw unknown(record);
      }
      return switch (record.type()) {
        case TIME -> new Time(TimeEntry.parseFrom(record.value()).getLogTimeMillis());
        case LOG_START -> new LogStart(LogStartEntry.parseFrom(record.value()).getLogStart());
        case PRODUCER_EXPIRE ->
            new ProducerExpire(
                ProducerExpireEntry.parseFrom(record.value()).getIdleSinceBeforeMillis());
        case CONF, NO_OP -> new Neutral(record.type());
        // In files only, of the metadata group, or of later versions.
        case SEGMENT_HEAD, SEGMENT_FOOT, METADATA, CLEAN_POINT, CLAIM, COMMIT, GROUP_DELETE ->
            throw unknown(record);
      };
    } catch (InvalidBatchException | InvalidProtocolBufferException e) {
      throw new UnknownControlEntryException("unreadable control entry: " + e.getMessage(), e);
    }
  }

  private static UnknownControlEntryException unknown(ControlRecord record) {
    return new UnknownControlEntryException(
        "control entry of type "
            + (record.type() == null ? record.code() : record.type())
            + " and version "
            + record.version()
            + " is unknown to this version's partitions: upgrade this broker",
        null);
  }

  /** Log time in a TIME batch, -1 in any other. */
  static long logTimeOf(ByteBuffer batch) {
    return decode(batch) instanceof Time time ? time.logTimeMillis() : -1;
  }
}
