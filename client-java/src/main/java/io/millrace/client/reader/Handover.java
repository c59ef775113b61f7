package io.millrace.client.reader;

import io.millrace.client.ReaderConfig;
import io.millrace.client.ReceivedRecord;
import io.millrace.client.error.UnreadableBatchException;
import io.millrace.protocol.batch.BatchReader;
import io.millrace.protocol.batch.InvalidBatchException;
import io.millrace.protocol.batch.RecordView;
import io.millrace.protocol.error.ErrorCode;
import java.util.ArrayList;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Takes records out of the fetched batches for one poll: decodes, checks, skips what is below the
 * position, stops at what is kept back.
 *
 * <p>Threads: the application's. Decoding happens outside the reader's lock.
 */
final class Handover {

  private static final Logger LOG = LoggerFactory.getLogger(Handover.class);

  /** An unreadable batch is fetched so often before it is reported. */
  private static final int BAD_BATCH_TRIES = 3;

  private final ReaderConfig config;
  private final ReaderState state;
  private final Runnable pump;
  private int turn;

  Handover(ReaderConfig config, ReaderState state, Runnable pump) {
    this.config = config;
    this.state = state;
    this.pump = pump;
  }

  /** From each partition in turn, beginning with another one each time. */
  List<ReceivedRecord> collect() {
    List<Cursor> cursors = state.all();
    List<ReceivedRecord> records = new ArrayList<>();
    if (cursors.isEmpty()) {
      return records;
    }
    turn = (turn + 1) % cursors.size();
    for (int i = 0; i < cursors.size() && records.size() < config.maxPollRecords(); i++) {
      collect(cursors.get((turn + i) % cursors.size()), records);
    }
    return records;
  }

  private void collect(Cursor cursor, List<ReceivedRecord> out) {
    long limit;
    long handed;
    int generation;
    state.lock.lock();
    try {
      if (!cursor.hasPosition() || cursor.failure != null) {
        return;
      }
      limit = cursor.deliverUpTo;
      handed = cursor.handed;
      generation = cursor.generation;
    } finally {
      state.lock.unlock();
    }
    while (out.size() < config.maxPollRecords() && handed < limit) {
      Cursor.Decoded decoded = decoded(cursor);
      if (decoded == null) {
        break;
      }
      handed = handOver(cursor, decoded, handed, limit, out);
      boolean exhausted = decoded.next == decoded.records.size();
      state.lock.lock();
      try {
        if (cursor.generation != generation) {
          return;
        }
        if (exhausted) {
          handed = Math.max(handed, decoded.chunk.nextOffset());
          cursor.chunks.pollFirst();
          cursor.heldBytes -= decoded.chunk.bytes();
          cursor.current = null;
        }
        cursor.handed = handed;
      } finally {
        state.lock.unlock();
      }
      if (!exhausted) {
        break;
      }
    }
  }

  private long handOver(
      Cursor cursor,
      Cursor.Decoded decoded,
      long handedBefore,
      long limit,
      List<ReceivedRecord> out) {
    long handed = handedBefore;
    List<RecordView> records = decoded.records;
    while (decoded.next < records.size() && out.size() < config.maxPollRecords()) {
      RecordView record = records.get(decoded.next);
      if (record.offset() >= limit) {
        // Also where offsets before it are missing: what comes next is kept back.
        return limit;
      }
      decoded.next++;
      if (record.offset() >= handed) {
        out.add(
            new ReceivedRecord(
                cursor.partition.topic(),
                cursor.partition.partition(),
                record.offset(),
                record.timestamp(),
                record.key(),
                record.value(),
                record.headers()));
        handed = record.offset() + 1;
      }
    }
    return handed;
  }

  /** The batch to hand over from; null when there is none, or it cannot be read. */
  private Cursor.Decoded decoded(Cursor cursor) {
    if (cursor.current != null) {
      return cursor.current;
    }
    Cursor.Chunk chunk;
    state.lock.lock();
    try {
      chunk = cursor.chunks.peekFirst();
    } finally {
      state.lock.unlock();
    }
    if (chunk == null) {
      return null;
    }
    try {
      List<RecordView> records =
          BatchReader.records(chunk.batch().duplicate(), config.maxDecompressedBytes());
      cursor.current = new Cursor.Decoded(chunk, records);
      return cursor.current;
    } catch (InvalidBatchException e) {
      unreadable(cursor, chunk, e);
      return null;
    }
  }

  /** Damage on the way or on one replica's disk is gone after another fetch. */
  private void unreadable(Cursor cursor, Cursor.Chunk chunk, InvalidBatchException e) {
    state.lock.lock();
    try {
      cursor.badTries = cursor.badOffset == chunk.baseOffset() ? cursor.badTries + 1 : 1;
      cursor.badOffset = chunk.baseOffset();
      LOG.warn(
          "batch at {} of {} cannot be read (try {}): {}",
          chunk.baseOffset(),
          cursor.partition,
          cursor.badTries,
          e.getMessage());
      cursor.fetchAgain();
      if (cursor.badTries >= BAD_BATCH_TRIES || e.code() == ErrorCode.UNREADABLE_BATCH) {
        state.fail(
            cursor,
            new UnreadableBatchException(
                cursor.partition, chunk.baseOffset(), chunk.nextOffset(), e));
      }
    } finally {
      state.lock.unlock();
    }
    pump.run();
  }
}
