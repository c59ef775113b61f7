package io.millrace.client.reader;

import com.google.protobuf.ByteString;
import io.millrace.client.OnLost;
import io.millrace.client.ReaderConfig;
import io.millrace.client.TopicPartition;
import io.millrace.client.error.LogTruncatedException;
import io.millrace.client.error.OffsetOutOfRangeException;
import io.millrace.client.error.RecordsLostException;
import io.millrace.client.metadata.MetadataCache;
import io.millrace.client.net.BrokerErrorException;
import io.millrace.protocol.batch.BatchReader;
import io.millrace.protocol.batch.InvalidBatchException;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.error.MillraceException;
import io.millrace.protocol.error.Outcome;
import io.millrace.protocol.message.ErrorInfo;
import io.millrace.protocol.message.FetchResponse;
import io.millrace.protocol.message.FetchResult;
import io.netty.buffer.ByteBuf;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What follows from the answer to a fetch. Batches are copied out of the network buffer here, once.
 *
 * <p>Threads: event loops, under the reader's lock.
 *
 * <p>Errors: whatever may get better is retried with a back-off and stays in the cursor's trouble;
 * what needs a decision becomes the cursor's failure.
 */
final class FetchAnswers {

  private static final Logger LOG = LoggerFactory.getLogger(FetchAnswers.class);

  private final ReaderState state;
  private final ReaderConfig config;
  private final MetadataCache metadata;
  private final Runnable pump;

  FetchAnswers(ReaderState state, ReaderConfig config, MetadataCache metadata, Runnable pump) {
    this.state = state;
    this.config = config;
    this.metadata = metadata;
    this.pump = pump;
  }

  void failed(FetchCall call, MillraceException failure) {
    int throttle = failure instanceof BrokerErrorException e ? e.throttleMillis() : 0;
    state.lock.lock();
    try {
      state.underWay.remove(call);
      for (FetchCall.Part part : call.parts()) {
        if (state.isCurrent(call, part)) {
          part.cursor().call = null;
          if (failure instanceof BrokerErrorException && isHopeless(failure.code())) {
            state.fail(part.cursor(), failure);
          } else {
            part.cursor().doubtedLeader = call.broker();
            state.retry(part.cursor(), failure.getMessage(), throttle);
          }
        }
      }
    } finally {
      state.lock.unlock();
    }
    metadata.refreshSoon();
    pump.run();
  }

  void answered(FetchCall call, FetchResponse response, ByteBuf payload) {
    boolean refresh = false;
    int throttleMillis = response.getContext().getThrottleMillis();
    // Told to the metadata outside the lock: its listeners take locks of other readers.
    List<Runnable> hints = new ArrayList<>();
    state.lock.lock();
    try {
      state.underWay.remove(call);
      int offset = payload.readerIndex();
      for (int i = 0; i < call.parts().size(); i++) {
        FetchCall.Part part = call.parts().get(i);
        Cursor cursor = part.cursor();
        FetchResult result = i < response.getResultsCount() ? response.getResults(i) : null;
        int size = result == null ? 0 : Math.max(0, result.getSize());
        if (state.isCurrent(call, part)) {
          cursor.call = null;
          if (result == null || offset + size > payload.writerIndex()) {
            state.retry(cursor, "broker " + call.broker() + " answered without this partition", 0);
          } else if (result.getError().getCode() != 0) {
            refresh |= refused(call, cursor, result, throttleMillis, hints);
          } else {
            take(call, cursor, result, payload, offset, size);
            cursor.waitFor(throttleMillis);
          }
        }
        offset += size;
      }
      state.changed.signalAll();
    } finally {
      state.lock.unlock();
    }
    hints.forEach(Runnable::run);
    if (refresh) {
      metadata.refreshSoon();
    }
    pump.run();
  }

  /**
   * What neither another leader nor time will mend. Whether a topic is gone is for the metadata to
   * say, and a fault inside a broker may pass.
   */
  private static boolean isHopeless(ErrorCode code) {
    return code.outcome() == Outcome.NOT_DONE
        && !code.retriable()
        && code != ErrorCode.UNKNOWN_TOPIC
        && code != ErrorCode.UNKNOWN_PARTITION
        && code != ErrorCode.CLIENT_CLOSED;
  }

  private void take(
      FetchCall call, Cursor cursor, FetchResult result, ByteBuf payload, int offset, int size) {
    if (size > 0) {
      ByteBuffer copy = ByteBuffer.allocate(size);
      payload.getBytes(offset, copy);
      List<ByteBuffer> batches;
      try {
        batches = BatchReader.split(copy.flip());
      } catch (InvalidBatchException e) {
        LOG.warn(
            "broker {} answered for {} at {} with what is no batch: {}; asking again",
            call.broker(),
            cursor.partition,
            cursor.fetched,
            e.getMessage());
        state.retry(
            cursor, "unreadable answer of broker " + call.broker() + ": " + e.getMessage(), 0);
        return;
      }
      batches.forEach(batch -> cursor.add(Cursor.Chunk.of(batch)));
    }
    cursor.eager &= size > 0;
    if (result.getDeliverUpTo() > 0) {
      cursor.deliverUpTo = Math.max(cursor.deliverUpTo, result.getDeliverUpTo());
    } else if (!call.raiseOnly()) {
      // The broker saw credit beyond all that is here: nothing of it is kept back.
      cursor.deliverUpTo = Math.max(cursor.deliverUpTo, cursor.fetched);
    }
    cursor.failures = 0;
    cursor.doubtedLeader = 0;
    cursor.trouble = "";
  }

  /** True when the metadata should be refreshed. */
  private boolean refused(
      FetchCall call, Cursor cursor, FetchResult result, int throttleMillis, List<Runnable> hints) {
    ErrorInfo error = result.getError();
    ErrorCode code = ErrorCode.of(error.getCode());
    TopicPartition tp = cursor.partition;
    switch (code) {
      case OFFSET_OUT_OF_RANGE -> {
        if (result.getRecordsLost() > 0) {
          lost(cursor, result);
        } else {
          state.fail(
              cursor,
              new OffsetOutOfRangeException(
                  tp, cursor.fetched, result.getLogStart(), result.getCommittedEnd()));
        }
        return false;
      }
      case LOG_TRUNCATED -> {
        state.fail(
            cursor,
            new LogTruncatedException(
                tp, result.getTruncated().getFirst(), result.getTruncated().getEnd()));
        return false;
      }
      default -> {
        if (isHopeless(code)) {
          state.fail(cursor, MillraceException.of(error));
          return false;
        }
        // Everything else may get better: another leader, a broker that catches up, a repair.
        if (error.hasLeader()) {
          ByteString topicId = cursor.topicId;
          hints.add(
              () -> metadata.leaderHint(tp.topic(), topicId, tp.partition(), error.getLeader()));
        }
        state.retry(cursor, code + " " + error.getText(), throttleMillis);
        if (code == ErrorCode.THROTTLED) {
          return false;
        }
        cursor.doubtedLeader = call.broker();
        return true;
      }
    }
  }

  private void lost(Cursor cursor, FetchResult result) {
    long count = result.getRecordsLost();
    long position = cursor.fetched;
    if (position > cursor.handed) {
      // First what is here, without regard to the broker's limit, which it cannot raise any more.
      cursor.deliverUpTo = position;
      state.retry(cursor, count + " records from offset " + position + " are gone", 0);
      return;
    }
    // Where the count ends: if the log starts even later by now, the next fetch says how much.
    long start = position + count;
    if (config.onLost() == OnLost.FAIL) {
      state.fail(cursor, new RecordsLostException(cursor.partition, position, start, count));
      return;
    }
    state.recordsLost += count;
    LOG.warn(
        "{} records of {} from offset {} were deleted by retention before they were read;"
            + " going on at {}",
        count,
        cursor.partition,
        position,
        start);
    cursor.lost += count;
    cursor.skipTo(start);
  }
}
