package io.millrace.client.fake;

import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.frame.ApiKind;
import io.millrace.protocol.message.ErrorInfo;
import io.millrace.protocol.message.FetchPartition;
import io.millrace.protocol.message.FetchRequest;
import io.millrace.protocol.message.FetchResponse;
import io.millrace.protocol.message.FetchResult;
import io.millrace.protocol.message.OffsetRange;
import io.netty.channel.Channel;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/** Long polls with credit, as a broker's: whole batches while credit is left, then a limit. */
final class FakeFetches {

  private static final long LOOK_AGAIN_MILLIS = 3;

  private final FakeCluster cluster;

  FakeFetches(FakeCluster cluster) {
    this.cluster = cluster;
  }

  void fetch(FakeBroker broker, Channel channel, int correlation, FetchRequest request) {
    look(
        broker,
        channel,
        correlation,
        request,
        System.nanoTime() + request.getMaxWaitMillis() * 1_000_000L);
  }

  void refuseEach(Channel channel, int correlation, FetchRequest request, ErrorInfo error) {
    FetchResponse.Builder response = FetchResponse.newBuilder().setContext(cluster.context());
    request.getPartitionsList().forEach(p -> response.addResults(result(p).setError(error)));
    cluster.send(channel, ApiKind.FETCH, correlation, response.build(), null);
  }

  private static FetchResult.Builder result(FetchPartition asked) {
    return FetchResult.newBuilder()
        .setTopicId(asked.getTopicId())
        .setPartition(asked.getPartition());
  }

  private void look(
      FakeBroker broker, Channel channel, int correlation, FetchRequest request, long deadline) {
    if (channel == null || !channel.isActive()) {
      return;
    }
    long credit =
        request.getPrefetchRecords() == 0
            ? Long.MAX_VALUE
            : request.getPrefetchRecords() - request.getInFlightRecords();
    boolean byteCredit =
        request.getPrefetchBytes() == 0 || request.getPrefetchBytes() > request.getInFlightBytes();
    boolean hadCredit = credit > 0 && byteCredit;
    long allowed = request.getPrefetchRecords();
    boolean error = false;
    int bytes = 0;
    List<ByteBuffer> payload = new ArrayList<>();
    FetchResponse.Builder response = FetchResponse.newBuilder().setContext(cluster.context());
    for (FetchPartition asked : request.getPartitionsList()) {
      FetchResult.Builder result = result(asked);
      FakePartition p = cluster.find(asked.getTopicId(), asked.getPartition());
      if (!check(broker, p, asked, result)) {
        error = true;
      } else if (hadCredit && credit > 0) {
        long position = asked.getPosition();
        long at = position;
        int size = 0;
        for (int i = p.indexOf(position); i < p.batches.size() && credit > 0; i++) {
          ByteBuffer batch = p.batches.get(i);
          long next = FakePartition.nextOffset(batch);
          boolean tooMuch = bytes > 0 && bytes + batch.remaining() > request.getMaxBytes();
          if (next > p.visibleEnd() || tooMuch) {
            break;
          }
          long fresh = next - at;
          result.setDeliverUpTo(at + Math.min(credit, fresh));
          credit -= fresh;
          at = next;
          size += batch.remaining();
          bytes += batch.remaining();
          payload.add(batch.duplicate());
        }
        result.setSize(size);
      } else if (!hadCredit) {
        long here = asked.getInFlightRecords();
        long handed = Math.min(here, allowed);
        allowed -= handed;
        result.setDeliverUpTo(Math.max(0, asked.getPosition() - here + handed));
      }
      response.addResults(result);
    }
    boolean enough = bytes > 0 && bytes >= request.getMinBytes();
    if (!enough && !error && System.nanoTime() - deadline < 0) {
      cluster.later(LOOK_AGAIN_MILLIS, () -> look(broker, channel, correlation, request, deadline));
      return;
    }
    ByteBuffer body = ByteBuffer.allocate(bytes);
    payload.forEach(body::put);
    cluster.send(channel, ApiKind.FETCH, correlation, response.build(), body.flip());
  }

  /** False when the result is an error. */
  private boolean check(
      FakeBroker broker, FakePartition p, FetchPartition asked, FetchResult.Builder result) {
    if (p == null) {
      result.setError(ErrorCode.UNKNOWN_TOPIC.toInfo("no such topic id"));
      return false;
    }
    if (p.leader != broker.id) {
      result.setError(cluster.notLeader(p));
      return false;
    }
    result
        .setTerm(p.term)
        .setLogStart(p.logStart)
        .setCommittedEnd(p.end)
        .setReadableEnd(p.visibleEnd());
    long position = asked.getPosition();
    if (position < p.logStart) {
      result
          .setError(ErrorCode.OFFSET_OUT_OF_RANGE.toInfo("below the log start"))
          .setRecordsLost(p.logStart - position);
      return false;
    }
    if (position > p.end) {
      boolean readBefore = asked.getLastFetchedTerm() > 0 && asked.getLastFetchedTerm() < p.term;
      if (readBefore) {
        result
            .setError(ErrorCode.LOG_TRUNCATED.toInfo("the tail is gone"))
            .setTruncated(OffsetRange.newBuilder().setFirst(p.end).setEnd(position));
      } else {
        result.setError(ErrorCode.OFFSET_OUT_OF_RANGE.toInfo("beyond the end"));
      }
      return false;
    }
    return true;
  }
}
