package io.millrace.broker.partition;

import io.millrace.protocol.message.ErrorInfo;
import io.millrace.protocol.message.FetchPartition;
import io.millrace.protocol.message.FetchResult;

/**
 * One partition of a fetch.
 *
 * <p>Threads: {@link #noteSeen} by the thread that looks, all else by any.
 */
final class FetchTarget {

  final FetchPartition request;

  /** Null when it is not here. */
  final Partition partition;

  private final ErrorInfo missing;

  private volatile long seenRecordBytes;

  FetchTarget(FetchPartition request, Partition partition, ErrorInfo missing) {
    this.request = request;
    this.partition = partition;
    this.missing = missing;
  }

  /** Bytes that arrive from now on count in {@link #arrivedBytes}. */
  void noteSeen() {
    if (partition != null) {
      seenRecordBytes = partition.recordBytes();
    }
  }

  long arrivedBytes() {
    return partition == null ? 0 : partition.recordBytes() - seenRecordBytes;
  }

  ReadCheck check() {
    return partition == null
        ? ReadCheck.failed(missing)
        : partition.checkRead(request.getPosition(), request.getLastFetchedTerm());
  }

  FetchResult.Builder result() {
    FetchResult.Builder result =
        FetchResult.newBuilder()
            .setTopicId(request.getTopicId())
            .setPartition(request.getPartition())
            .setDeliverUpTo(request.getPosition());
    if (partition != null) {
      long readableEnd = partition.readableEnd();
      result
          .setTerm(partition.leadingTerm())
          .setReadableEnd(readableEnd)
          .setLastStableOffset(readableEnd)
          .setCommittedEnd(partition.committedEnd())
          .setLogStart(partition.logStart());
    }
    return result;
  }
}
