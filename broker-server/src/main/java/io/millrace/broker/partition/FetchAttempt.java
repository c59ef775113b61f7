package io.millrace.broker.partition;

import io.millrace.broker.log.FetchSlice;
import io.millrace.broker.log.LogDamagedException;
import io.millrace.broker.partition.PartitionCounters.Counter;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.message.FetchRequest;
import io.millrace.protocol.message.FetchResponse;
import io.millrace.protocol.message.FetchResult;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * One look at all partitions of a fetch: an answer, or the finding that it must wait on.
 *
 * <p>It answers when the bytes reach {@code minBytes}, when waiting could not add any (credit or
 * {@code maxBytes} are used up), when a partition has an error, or when it is the last look.
 *
 * <p>Threads: one, which may read files.
 */
final class FetchAttempt {

  private final FetchCoordinator.Context context;
  private final FetchRequest request;
  private final List<FetchTarget> targets;
  private final FetchCredit credit;
  private final ReadCheck[] checks;
  private final FetchSlice[] slices;
  private final long[] deliverUpTo;
  private long bytes;
  private boolean ready;
  private boolean failed;
  private boolean cutShort;
  private boolean writeBehind;

  FetchAttempt(FetchCoordinator.Context context, FetchRequest request, List<FetchTarget> targets) {
    this.context = context;
    this.request = request;
    this.targets = targets;
    this.credit = new FetchCredit(request);
    this.checks = new ReadCheck[targets.size()];
    this.slices = new FetchSlice[targets.size()];
    this.deliverUpTo = new long[targets.size()];
  }

  /** Looks at the partitions without touching a file; true = an answer is possible. */
  boolean check() {
    for (int i = 0; i < checks.length; i++) {
      checks[i] = targets.get(i).check();
      ready |= checks[i] instanceof ReadCheck.Ready;
      failed |= checks[i] instanceof ReadCheck.Failed;
      writeBehind |= checks[i] instanceof ReadCheck.Wait wait && wait.writeBehind();
    }
    return failed || (ready && credit.any());
  }

  /**
   * Reads, after {@link #check}.
   *
   * @param first index of the target that is served first
   * @return null when the fetch should wait
   */
  FetchAnswer read(int first, boolean lastLook) {
    try {
      if (ready && credit.any()) {
        slice(first);
      }
      boolean enough = bytes > 0 && (bytes >= request.getMinBytes() || cutShort);
      if (!enough && !failed && !lastLook) {
        releaseSlices();
        return null;
      }
      return answer();
    } catch (RuntimeException e) {
      releaseSlices();
      throw e;
    }
  }

  /** Bytes found by a look that did not answer. */
  long bytesFound() {
    return bytes;
  }

  /** Committed records wait for their local write. */
  boolean writeBehind() {
    return writeBehind;
  }

  private void slice(int first) {
    int left = maxBytes();
    for (int n = 0; n < checks.length; n++) {
      int i = (first + n) % checks.length;
      if (!(checks[i] instanceof ReadCheck.Ready readable)) {
        continue;
      }
      FetchTarget target = targets.get(i);
      long allowed = credit.of(target.request);
      if (left <= 0 || !credit.any()) {
        cutShort = true;
        return;
      }
      if (allowed <= 0) {
        continue;
      }
      FetchSlice slice = slice(i, target, readable.endOffset(), allowed, left);
      if (slice == null) {
        continue;
      }
      if (bytes > 0 && slice.bytes() > left) {
        // The log gives at least one batch; only the first of an answer may go over the limit.
        slice.release();
        cutShort = true;
        return;
      }
      long position = target.request.getPosition();
      long newRecords = slice.nextOffset() - position;
      slices[i] = slice;
      deliverUpTo[i] = position + Math.min(allowed, newRecords);
      bytes += slice.bytes();
      left -= slice.bytes();
      cutShort |= slice.nextOffset() < readable.endOffset();
      credit.take(newRecords, slice.bytes());
    }
  }

  private int maxBytes() {
    int limit = context.limits().maxBytes();
    int wanted = request.getMaxBytes() == 0 ? limit : Math.min(request.getMaxBytes(), limit);
    return credit.maxBytes(wanted);
  }

  private FetchSlice slice(
      int i, FetchTarget target, long readableEnd, long allowed, int bytesLeft) {
    long position = target.request.getPosition();
    int own = target.request.getMaxBytes();
    int maxBytes = own == 0 ? bytesLeft : Math.min(own, bytesLeft);
    long end = allowed < readableEnd - position ? position + allowed : readableEnd;
    try {
      if (target.request.hasUnreadable()) {
        target.partition.verify(target.request.getUnreadable());
      }
      FetchSlice slice = target.partition.slice(position, end, maxBytes);
      if (slice.isEmpty() && end < readableEnd) {
        // The next batch is larger than the credit: it goes whole, and alone.
        slice.release();
        slice = target.partition.slice(position, readableEnd, 1);
      }
      inspect(slice);
      if (slice.isEmpty()) {
        slice.release();
        return null;
      }
      return slice;
    } catch (IOException | RuntimeException e) {
      if (e instanceof LogDamagedException damage) {
        target.partition.damaged(damage);
      }
      checks[i] =
          ReadCheck.failed(
              ErrorCode.STORAGE_ERROR.toInfo(
                  target.partition.id() + ": offset " + position + " cannot be read: " + e));
      failed = true;
      return null;
    }
  }

  private void inspect(FetchSlice slice) throws IOException {
    long controlBatches = context.inspector().controlBatches(slice);
    if (controlBatches > 0) {
      context.counters().add(Counter.CONTROL_BATCHES_SERVED, controlBatches);
    }
  }

  private FetchAnswer answer() {
    if (!context.budget().tryTakeBytes(bytes)) {
      releaseSlices();
      context.counters().fetchRefused(ErrorCode.THROTTLED);
      return FetchCoordinator.throttled(
          "answers of "
              + context.budget().responseBytes()
              + " of "
              + context.budget().maxResponseBytes()
              + " bytes wait to be sent by this broker");
    }
    FetchResponse.Builder response = FetchResponse.newBuilder();
    List<FetchSlice> inOrder = new ArrayList<>();
    long[] kept = credit.deliverUpTo(request);
    for (int i = 0; i < checks.length; i++) {
      FetchTarget target = targets.get(i);
      FetchResult.Builder result = target.result();
      if (checks[i] instanceof ReadCheck.Failed failure) {
        describe(failure, target.request.getPosition(), result);
      } else if (slices[i] != null) {
        inOrder.add(slices[i]);
        result.setSize(slices[i].bytes()).setDeliverUpTo(deliverUpTo[i]);
      } else {
        result.setDeliverUpTo(kept[i]);
      }
      response.addResults(result);
    }
    context.counters().add(Counter.FETCHED_BYTES, bytes);
    return new FetchAnswer(response.build(), inOrder, bytes, context.budget());
  }

  private void describe(ReadCheck.Failed failure, long position, FetchResult.Builder result) {
    result.setError(failure.error()).setRecordsLost(failure.recordsLost());
    if (failure.recordsLost() > 0) {
      // It may have moved again since it was counted up to there.
      result.setLogStart(position + failure.recordsLost());
    }
    if (failure.truncated() != null) {
      result.setTruncated(failure.truncated());
    }
    context.counters().fetchRefused(ErrorCode.of(failure.error().getCode()));
  }

  private void releaseSlices() {
    for (int i = 0; i < slices.length; i++) {
      if (slices[i] != null) {
        slices[i].release();
        slices[i] = null;
      }
    }
  }
}
