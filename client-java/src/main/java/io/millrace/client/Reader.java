package io.millrace.client;

import java.util.Collection;
import java.util.List;
import java.util.Map;

/**
 * Reads assigned partitions from a position that lives in memory only.
 *
 * <p>Records returned by one {@code poll} count as processed when the next {@code poll} begins. The
 * reader fetches ahead while the application works, as long as records handed over or waiting here
 * stay below {@link ReaderConfig#prefetchRecords()}.
 *
 * <p>Threads: one thread at a time, like a cursor. Only {@link #wakeup}, {@link #health}, {@link
 * #recordsLost} and {@link #close} may come from another thread.
 *
 * <p>Errors: brokers that are down, moving or not ready are retried quietly; {@link #health} says
 * why nothing arrives. {@code poll} throws what needs a decision, again on each call until the
 * partition is sought or unassigned: {@link io.millrace.client.error.RecordsLostException}, {@link
 * io.millrace.client.error.LogTruncatedException}, {@link
 * io.millrace.client.error.OffsetOutOfRangeException}, {@link
 * io.millrace.client.error.UnreadableBatchException}, {@link
 * io.millrace.client.error.UnknownTopicException}. Records of other partitions are not lost by it.
 */
public interface Reader extends AutoCloseable {

  /**
   * Replaces the assignment. Partitions kept from the last one keep their position; new ones begin
   * at {@link ReaderConfig#start()} unless sought before the first poll.
   */
  void assign(Collection<TopicPartition> partitions);

  /** Assigns all partitions of a topic; waits for its metadata. */
  List<TopicPartition> assignAll(String topic);

  List<TopicPartition> assignment();

  void seek(TopicPartition partition, long offset);

  /** Empty = all assigned. The offset is looked up in the background. */
  void seekToEarliest(Collection<TopicPartition> partitions);

  /** Empty = all assigned. The end is the committed end at the time of the look-up. */
  void seekToLatest(Collection<TopicPartition> partitions);

  /** To the first record with a timestamp at or after this; the end when there is none. */
  void seekToTime(Collection<TopicPartition> partitions, long timestampMillis);

  /**
   * Returns as soon as there are records, at the latest after {@code timeoutMillis} with an empty
   * list. Also returns empty after {@link #wakeup}, and when the thread is interrupted, which stays
   * set.
   */
  List<ReceivedRecord> poll(long timeoutMillis);

  /** Ends a poll that waits, or else the next one. */
  void wakeup();

  /** The offset that {@code poll} will return next; waits for a look-up under way. */
  long position(TopicPartition partition);

  /** The committed ends, asked from the leaders now. */
  Map<TopicPartition, Long> endOffsets();

  /** How many records were skipped because retention had deleted them; see {@link OnLost#SKIP}. */
  long recordsLost();

  /** One line per partition: position, what it waits for, and the last error. */
  String health();

  @Override
  void close();
}
