package io.millrace.client.producer;

import io.millrace.client.FsyncPolicy;
import io.millrace.client.error.ClientClosedException;
import io.millrace.client.error.DeliveryTimeoutException;
import io.millrace.client.error.RecordTooLargeException;
import io.millrace.client.error.RequestFailedException;
import io.millrace.client.error.UnknownTopicException;
import io.millrace.client.internal.Callbacks;
import io.millrace.client.internal.Ticks;
import io.millrace.client.metadata.MetadataCache;
import io.millrace.client.net.Backoff;
import io.millrace.client.net.BrokerErrorException;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.error.MillraceException;
import io.millrace.protocol.error.Outcome;
import io.millrace.protocol.message.ErrorInfo;
import io.millrace.protocol.message.LeaderHint;
import io.millrace.protocol.message.ProduceResponse;
import io.millrace.protocol.message.ProduceResult;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What follows from the end of an attempt, and how batches end.
 *
 * <p>Threads: the sender's. Futures are completed by the callback thread.
 */
final class ProduceAnswers {

  private static final Logger LOG = LoggerFactory.getLogger(ProduceAnswers.class);

  /** So often a new leader or a gap is answered without a wait; then the back-off begins. */
  private static final int QUICK_RETRIES = 2;

  private final Sender sender;
  private final MetadataCache metadata;
  private final Callbacks callbacks;
  private final Backoff backoff;
  private final long deliveryTimeoutMillis;

  ProduceAnswers(
      Sender sender,
      MetadataCache metadata,
      Callbacks callbacks,
      Backoff backoff,
      long deliveryTimeoutMillis) {
    this.sender = sender;
    this.metadata = metadata;
    this.callbacks = callbacks;
    this.backoff = backoff;
    this.deliveryTimeoutMillis = deliveryTimeoutMillis;
  }

  void answered(ProduceAttempt attempt, ProduceResponse response) {
    int throttleMillis = response.getContext().getThrottleMillis();
    sender.lanes().throttle(attempt.broker, throttleMillis);
    if (response.getResultsCount() != attempt.batches.size()) {
      String text =
          "broker "
              + attempt.broker
              + " gave "
              + response.getResultsCount()
              + " results for "
              + attempt.batches.size()
              + " batches";
      for (ProducerBatch batch : attempt.batches) {
        failedOnce(attempt, batch, ErrorCode.OUTCOME_UNKNOWN, text, null, 0);
      }
      return;
    }
    for (int i = 0; i < attempt.batches.size(); i++) {
      ProducerBatch batch = attempt.batches.get(i);
      ProduceResult result = response.getResults(i);
      ErrorInfo error = result.getError();
      if (error.getCode() == 0) {
        stored(batch, result);
      } else {
        failedOnce(
            attempt,
            batch,
            ErrorCode.of(error.getCode()),
            error.getText(),
            error.hasLeader() ? error.getLeader() : null,
            throttleMillis);
      }
    }
  }

  void failed(ProduceAttempt attempt, MillraceException failure) {
    int throttleMillis = failure instanceof BrokerErrorException e ? e.throttleMillis() : 0;
    for (ProducerBatch batch : attempt.batches) {
      failedOnce(attempt, batch, failure.code(), failure.getMessage(), null, throttleMillis);
    }
  }

  /** True for any attempt, also one that was given up: stored is stored. */
  private void stored(ProducerBatch batch, ProduceResult result) {
    if (batch.decided) {
      return;
    }
    batch.decided = true;
    batch.lane.state.stored(batch);
    FsyncPolicy fsync = FsyncPolicy.of(result.getFsync());
    callbacks.execute(
        () ->
            batch.complete(result.getBaseOffset(), result.getTerm(), fsync, result.getDuplicate()));
  }

  private void failedOnce(
      ProduceAttempt attempt,
      ProducerBatch batch,
      ErrorCode code,
      String text,
      LeaderHint hintOrNull,
      int throttleMillis) {
    if (batch.attempt != attempt || batch.decided) {
      return;
    }
    LaneState lane = batch.lane.state;
    boolean maybeStored = code.outcome() == Outcome.UNKNOWN;
    if (code == ErrorCode.CLIENT_CLOSED) {
      end(batch, new ClientClosedException("the client is closed", outcome(batch)));
      return;
    }
    if (!isRepeatable(code)) {
      batch.maybeStored |= maybeStored;
      if (code == ErrorCode.PRODUCER_FENCED) {
        lane.producerFenced();
        sender.producerId().forget(lane.producerId());
      }
      end(batch, terminal(batch, code, text));
      return;
    }
    boolean gap = code == ErrorCode.OUT_OF_ORDER_SEQUENCE || code == ErrorCode.UNKNOWN_PRODUCER;
    boolean resumed = lane.resumes(batch);
    lane.failed(batch, maybeStored, gap, text);
    boolean quick = gap && !resumed && lane.resumes(batch);
    if (!gap && code != ErrorCode.THROTTLED && code != ErrorCode.DISK_FULL) {
      lane.doubtLeader(attempt.broker);
      if (hintOrNull == null) {
        metadata.refreshSoon();
      } else {
        quick |= learnLeader(batch.lane, hintOrNull);
      }
    }
    if (!(quick && lane.failures() <= QUICK_RETRIES)) {
      long wait =
          Math.max(
              backoff.nanos(Math.max(0, lane.failures() - 1)),
              TimeUnit.MILLISECONDS.toNanos(throttleMillis));
      lane.waitUntil(Ticks.now() + wait);
    }
    LOG.debug(
        "{}-{} batch at sequence {} is sent again: {} {}",
        batch.lane.topic(),
        batch.lane.partition(),
        batch.sequence,
        code,
        text);
  }

  /**
   * The batch is under way to a broker that does not lead any more and does not answer. It is sent
   * to the new leader; should the old one still answer that it is stored, that counts.
   */
  void leaderMoved(ProducerBatch batch, int newLeader) {
    int oldLeader = batch.attempt.broker;
    batch.lane.state.failed(
        batch,
        true,
        false,
        "broker " + oldLeader + " did not answer; broker " + newLeader + " leads now");
  }

  /** A batch that cannot be put together, for example for want of a codec's library. */
  void unbuildable(ProducerBatch batch, Throwable cause) {
    end(
        batch,
        new RequestFailedException(
            ErrorCode.INVALID_BATCH,
            "the batch cannot be built: " + cause,
            Outcome.NOT_DONE,
            cause));
  }

  /** True when another leader is known now than before. */
  private boolean learnLeader(PartitionLane lane, LeaderHint hint) {
    int before = sender.lanes().leader(lane);
    metadata.leaderHint(lane.topic(), lane.topicId(), lane.partition(), hint);
    int after = sender.lanes().leader(lane);
    if (after == before) {
      metadata.refreshSoon();
    }
    return after != before;
  }

  /**
   * A topic or partition that one broker does not know may only be new to it; whether it is gone is
   * for the metadata to say.
   */
  private static boolean isRepeatable(ErrorCode code) {
    return code.retriable()
        || code == ErrorCode.UNKNOWN_PRODUCER
        || code == ErrorCode.UNKNOWN_TOPIC
        || code == ErrorCode.UNKNOWN_PARTITION;
  }

  private static Outcome outcome(ProducerBatch batch) {
    return batch.maybeStored || batch.inFlight() ? Outcome.UNKNOWN : Outcome.NOT_DONE;
  }

  private static MillraceException terminal(ProducerBatch batch, ErrorCode code, String text) {
    String full =
        (text == null || text.isBlank() ? code.advice() : text)
            + " ("
            + records(batch)
            + " for "
            + partition(batch)
            + ")";
    if (code == ErrorCode.RECORD_TOO_LARGE && !batch.maybeStored) {
      return new RecordTooLargeException(full);
    }
    Outcome outcome = batch.maybeStored ? Outcome.UNKNOWN : code.outcome();
    return new RequestFailedException(code, full, outcome, null);
  }

  /**
   * The delivery timeout is over for a batch that is not under way. What people need stands first,
   * up to the first semicolon.
   */
  void expired(ProducerBatch batch) {
    String within = " within " + deliveryTimeoutMillis + " ms";
    String were = batch.recordCount() == 1 ? " was" : " were";
    String text;
    if (batch.maybeStored) {
      text =
          records(batch)
              + " for "
              + partition(batch)
              + were
              + " sent, but not acknowledged"
              + within;
    } else if (metadata.view().broker(sender.lanes().leader(batch.lane)) == null) {
      text =
          "no leader for "
              + partition(batch)
              + within
              + "; "
              + records(batch)
              + were
              + " not stored";
    } else {
      text =
          records(batch) + " for " + partition(batch) + were + " not taken by any leader" + within;
    }
    String last = batch.lane.state.lastFailure();
    end(
        batch,
        new DeliveryTimeoutException(
            batch.maybeStored, last.isEmpty() ? text : text + "; last: " + last));
  }

  private static String records(ProducerBatch batch) {
    return batch.recordCount() + (batch.recordCount() == 1 ? " record" : " records");
  }

  private static String partition(ProducerBatch batch) {
    return batch.lane.topic() + "-" + batch.lane.partition();
  }

  void topicGone(ProducerBatch batch, String text) {
    end(
        batch,
        new UnknownTopicException(
            ErrorCode.UNKNOWN_TOPIC, batch.lane.topic(), text, outcome(batch)));
  }

  void closed(ProducerBatch batch) {
    Outcome outcome = outcome(batch);
    end(
        batch,
        new ClientClosedException(
            "the producer was closed before "
                + records(batch)
                + " for "
                + partition(batch)
                + (batch.recordCount() == 1 ? " was" : " were")
                + (outcome == Outcome.UNKNOWN ? " acknowledged" : " sent"),
            outcome));
  }

  private void end(ProducerBatch batch, MillraceException failure) {
    if (batch.decided) {
      return;
    }
    batch.decided = true;
    if (batch.built != null) {
      batch.lane.state.endedForGood(batch, failure.getMessage());
    }
    callbacks.execute(() -> batch.fail(failure));
  }

  void failWaiting(TopicRoute.Waiting waiting, MemoryBudget budget, MillraceException failure) {
    callbacks.execute(
        () -> {
          waiting.future().completeExceptionally(failure);
          budget.release(waiting.memoryBytes());
        });
  }
}
