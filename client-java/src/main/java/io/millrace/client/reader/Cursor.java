package io.millrace.client.reader;

import com.google.protobuf.ByteString;
import io.millrace.client.OffsetSpec;
import io.millrace.client.TopicPartition;
import io.millrace.client.internal.Ticks;
import io.millrace.protocol.batch.BatchHeader;
import io.millrace.protocol.batch.RecordView;
import io.millrace.protocol.error.MillraceException;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Where a reader is in one partition, and what waits here for it.
 *
 * <pre>
 *   processed &lt;= handed &lt;= deliverUpTo or fetched
 *   |  handed over by the last poll  |  fetched ahead  |  kept back  |
 *   processed                        handed            deliverUpTo   fetched
 * </pre>
 *
 * <p>Owns: the fetched batches, undecoded.
 *
 * <p>Threads: guarded by the reader's lock, except {@link #current}, which is the application
 * thread's.
 */
final class Cursor {

  /** A batch as it came. */
  record Chunk(ByteBuffer batch, long baseOffset, long nextOffset) {

    static Chunk of(ByteBuffer batch) {
      long base = BatchHeader.baseOffset(batch, 0);
      return new Chunk(batch, base, base + BatchHeader.lastOffsetDelta(batch, 0) + 1);
    }

    int bytes() {
      return batch.remaining();
    }
  }

  /** The decoded batch that is being handed over. */
  static final class Decoded {
    final Chunk chunk;
    final List<RecordView> records;
    int next;

    Decoded(Chunk chunk, List<RecordView> records) {
      this.chunk = chunk;
      this.records = records;
    }
  }

  final TopicPartition partition;

  /** Of the topic when it was first found; null before. */
  ByteString topicId;

  /** When it was assigned or sought last. */
  long sinceNanos;

  /** Every seek begins a new one: answers to fetches of an older one are dropped. */
  int generation;

  long processed;
  long handed;
  long fetched;
  long deliverUpTo;
  long lastFetchedTerm;
  long heldBytes;
  final ArrayDeque<Chunk> chunks = new ArrayDeque<>();

  /** Application thread only. */
  Decoded current;

  /** The position is not known until this is looked up; null = it is known. */
  OffsetSpec lookup;

  boolean lookingUp;

  /** The fetch that this partition is part of; null = none. */
  FetchCall call;

  /** Sought, and not yet told that there is nothing: need not wait for a fetch under way. */
  boolean eager;

  long notBeforeNanos;
  int failures;

  /** The broker that may not lead any more; 0 = no doubt. */
  int doubtedLeader;

  /** Why nothing arrives; empty = nothing is wrong. */
  String trouble = "";

  /** The trouble is that topic or leader are not known. */
  boolean placeUnknown;

  /** What poll throws until the application decides. */
  MillraceException failure;

  /** Where an unreadable batch begins and how often it was fetched. */
  long badOffset = -1;

  int badTries;
  long lost;

  Cursor(TopicPartition partition) {
    this.partition = partition;
  }

  /** Forgets what waits here and goes on at that offset. */
  void moveTo(long offset) {
    restart();
    processed = offset;
    handed = offset;
    fetched = offset;
    deliverUpTo = offset;
    lookup = null;
  }

  /** The position is not known until the look-up is done. */
  void moveTo(OffsetSpec spec) {
    restart();
    lookup = spec;
    lookingUp = false;
  }

  private void restart() {
    fetchAgain();
    sinceNanos = Ticks.now();
    eager = true;
    notBeforeNanos = 0;
    failures = 0;
    doubtedLeader = 0;
    trouble = "";
    failure = null;
    badOffset = -1;
    badTries = 0;
  }

  void placeUnknown(String why) {
    trouble = why;
    placeUnknown = true;
  }

  void placeKnown() {
    if (placeUnknown) {
      trouble = "";
      placeUnknown = false;
    }
  }

  void waitFor(int millis) {
    if (millis > 0) {
      notBeforeNanos = Ticks.now() + TimeUnit.MILLISECONDS.toNanos(millis);
    }
  }

  /** Drops what was fetched and not handed over, to fetch it again. */
  void fetchAgain() {
    generation++;
    chunks.clear();
    heldBytes = 0;
    fetched = handed;
    deliverUpTo = handed;
    lastFetchedTerm = 0;
    call = null;
    current = null;
  }

  /**
   * Retention took what comes next, and nothing waits here; what was handed over stays in flight.
   */
  void skipTo(long offset) {
    long unprocessed = handed - processed;
    fetchAgain();
    handed = offset;
    fetched = offset;
    deliverUpTo = offset;
    processed = offset - unprocessed;
  }

  void add(Chunk chunk) {
    if (chunk.nextOffset() <= fetched) {
      return;
    }
    chunks.addLast(chunk);
    heldBytes += chunk.bytes();
    fetched = chunk.nextOffset();
    lastFetchedTerm = BatchHeader.partitionLeaderEpoch(chunk.batch(), 0);
  }

  /** Records here and with the application, not processed, kept back ones included. */
  long held() {
    return fetched - processed;
  }

  /** The same without those kept back. */
  long deliverable() {
    return Math.min(deliverUpTo, fetched) - processed;
  }

  /** Nothing is left to hand over, but something is kept back. */
  boolean starvesByCredit() {
    return fetched > handed && deliverUpTo <= handed;
  }

  boolean hasPosition() {
    return lookup == null;
  }
}
