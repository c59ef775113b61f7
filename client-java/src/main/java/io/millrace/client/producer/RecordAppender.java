package io.millrace.client.producer;

import io.millrace.client.Checks;
import io.millrace.client.ProducerConfig;
import io.millrace.client.ProducerRecord;
import io.millrace.client.Receipt;
import io.millrace.client.error.BufferFullException;
import io.millrace.client.error.ClientClosedException;
import io.millrace.client.error.InvalidArgumentException;
import io.millrace.client.error.RecordTooLargeException;
import io.millrace.client.error.UnknownTopicException;
import io.millrace.client.internal.Ticks;
import io.millrace.client.metadata.MetadataCache;
import io.millrace.client.metadata.TopicView;
import io.millrace.protocol.batch.BatchHeader;
import io.millrace.protocol.batch.BatchValidator;
import io.millrace.protocol.batch.BatchWriter;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.error.MillraceException;
import io.millrace.protocol.error.Outcome;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/**
 * Takes a record from the application: checks it, chooses its partition, copies it into a batch.
 *
 * <p>Threads: any; the only locks are those of the record's partition, and of the topic while it is
 * not known.
 */
final class RecordAppender {

  private final ProducerConfig config;
  private final MemoryBudget budget;
  private final MetadataCache metadata;
  private final Map<String, TopicRoute> routes;
  private final Sender sender;

  RecordAppender(
      ProducerConfig config,
      MemoryBudget budget,
      MetadataCache metadata,
      Map<String, TopicRoute> routes,
      Sender sender) {
    this.config = config;
    this.budget = budget;
    this.metadata = metadata;
    this.routes = routes;
    this.sender = sender;
  }

  /** Upper bound of the memory that the record takes while it is undecided. */
  static long memoryBytes(ProducerRecord record) {
    return recordBytes(record) + ProducerConfig.RECORD_OVERHEAD_BYTES;
  }

  private static long recordBytes(ProducerRecord record) {
    return BatchWriter.singleRecordBatchBytes(record.key(), record.value(), record.headers())
        - BatchHeader.SIZE;
  }

  /**
   * Takes the record, or throws why not; then nothing is kept of it.
   *
   * @throws BufferFullException worth another try when memory has come free
   */
  void append(ProducerRecord record, CompletableFuture<Receipt> future) {
    long recordBytes = check(record);
    long nowMillis = System.currentTimeMillis();
    while (true) {
      if (sender.isFinished()) {
        throw new ClientClosedException("the producer is closed", Outcome.NOT_DONE);
      }
      TopicRoute route = routes.get(record.topic());
      if (route == null) {
        route = newRoute(record.topic());
      }
      TopicRoute.Known known = route.known();
      boolean done =
          known == null
              ? enqueue(route, record, recordBytes, future)
              : appendKnown(
                  route, known, record, recordBytes, nowMillis, PartitionLane.NOW, future, false);
      if (done) {
        return;
      }
      // The topic became known or went away, or the producer was closed: look again.
      routes.computeIfPresent(record.topic(), (name, r) -> r.isGone() ? null : r);
    }
  }

  private long check(ProducerRecord record) {
    if (record.topic() == null) {
      Checks.topicName(null);
    }
    for (int i = 0; i < record.headers().size(); i++) {
      if (record.headers().get(i) == null) {
        throw new InvalidArgumentException("header " + i + " is null; leave it out");
      }
    }
    Long timestamp = record.timestampMillis();
    if (timestamp != null) {
      long latest = System.currentTimeMillis() + BatchValidator.Limits.DAY_MILLIS;
      if (timestamp < 0 || timestamp > latest) {
        throw new InvalidArgumentException(
            "the timestamp is "
                + timestamp
                + "; give milliseconds since the epoch, 0 to "
                + latest
                + " (a day ahead), or null for now");
      }
    }
    long bytes = recordBytes(record);
    if (bytes + ProducerConfig.RECORD_OVERHEAD_BYTES > budget.limit()) {
      throw new RecordTooLargeException(
          "the record takes "
              + bytes
              + " bytes, the producer's whole memory is "
              + budget.limit()
              + "; raise bufferBytes, or send a smaller record");
    }
    return bytes;
  }

  private TopicRoute newRoute(String topic) {
    Checks.topicName(topic);
    TopicRoute fresh = new TopicRoute(topic, sender::isFinished);
    TopicRoute other = routes.putIfAbsent(topic, fresh);
    if (other != null) {
      return other;
    }
    metadata.want(topic);
    sender.register(fresh);
    return fresh;
  }

  /** False: look again. */
  private boolean enqueue(
      TopicRoute route,
      ProducerRecord record,
      long recordBytes,
      CompletableFuture<Receipt> future) {
    long memory = recordBytes + ProducerConfig.RECORD_OVERHEAD_BYTES;
    if (!budget.tryReserve(memory)) {
      throw bufferFull();
    }
    TopicRoute.Waits waits =
        route.enqueue(new TopicRoute.Waiting(record, future, memory, Ticks.now()));
    if (waits == TopicRoute.Waits.YES) {
      return true;
    }
    budget.release(memory);
    return false;
  }

  /** Of a record that waited for its topic; the sender has the route's lock. */
  void appendWaiting(TopicRoute route, TopicRoute.Known known, TopicRoute.Waiting waiting) {
    ProducerRecord record = waiting.record();
    try {
      long waited = TimeUnit.NANOSECONDS.toMillis(Ticks.now() - waiting.sinceNanos());
      appendKnown(
          route,
          known,
          record,
          recordBytes(record),
          Math.max(0, System.currentTimeMillis() - waited),
          waiting.sinceNanos(),
          waiting.future(),
          true);
      budget.release(waiting.memoryBytes());
    } catch (MillraceException e) {
      sender.answers().failWaiting(waiting, budget, e);
    }
  }

  /** False: the lane is gone, look again. */
  private boolean appendKnown(
      TopicRoute route,
      TopicRoute.Known known,
      ProducerRecord record,
      long recordBytes,
      long nowMillis,
      long sentNanos,
      CompletableFuture<Receipt> future,
      boolean force) {
    checkSize(known, record, recordBytes);
    int count = known.lanes().length;
    boolean sticky = record.partition() == null && record.key() == null;
    int partition;
    if (record.partition() != null) {
      partition = checkPartition(record, count);
    } else if (record.key() != null) {
      partition = Murmur2.partition(record.key(), count);
    } else {
      partition = route.sticky(leaders(known));
    }
    boolean mayBegin = !sticky;
    while (true) {
      PartitionLane lane = known.lanes()[partition];
      switch (lane.append(record, recordBytes, nowMillis, sentNanos, future, mayBegin, force)) {
        case DONE -> {
          return true;
        }
        case DONE_NEW_BATCH -> {
          if (lane.register()) {
            sender.register(lane);
          }
          sender.batchDue(Ticks.now() + TimeUnit.MILLISECONDS.toNanos(config.lingerMillis()));
          return true;
        }
        case DONE_CLOSED_BATCH -> {
          sender.wake();
          return true;
        }
        case NEEDS_BATCH_CLOSED_ONE -> {
          sender.wake();
          partition = route.nextSticky(partition, leaders(known));
          mayBegin = true;
        }
        case NEEDS_BATCH -> {
          partition = route.nextSticky(partition, leaders(known));
          mayBegin = true;
        }
        case NO_MEMORY -> throw bufferFull();
        case GONE -> {
          return false;
        }
      }
    }
  }

  private TopicView leaders(TopicRoute.Known known) {
    TopicView now = metadata.view().topic(known.view().name());
    return now == null || now.partitions() < known.lanes().length ? known.view() : now;
  }

  private static int checkPartition(ProducerRecord record, int count) {
    int partition = record.partition();
    if (partition < 0 || partition >= count) {
      throw new UnknownTopicException(
          ErrorCode.UNKNOWN_PARTITION,
          record.topic(),
          "partition "
              + partition
              + " of topic '"
              + record.topic()
              + "' does not exist; it has partitions 0 to "
              + (count - 1),
          Outcome.NOT_DONE);
    }
    return partition;
  }

  private static void checkSize(TopicRoute.Known known, ProducerRecord record, long recordBytes) {
    long limit = known.maxRecordBatchBytes();
    if (limit != 0 && recordBytes + BatchHeader.SIZE > limit) {
      throw new RecordTooLargeException(
          "the record takes "
              + recordBytes
              + " bytes with its key and headers, topic '"
              + record.topic()
              + "' takes at most "
              + known.view().maxRecordBytes()
              + "; send a smaller record, or raise the topic's max record bytes");
    }
  }

  private BufferFullException bufferFull() {
    return new BufferFullException(
        "the producer's memory of "
            + budget.limit()
            + " bytes is used up ("
            + budget.used()
            + "); send slower, use sendBlocking, or raise bufferBytes");
  }
}
