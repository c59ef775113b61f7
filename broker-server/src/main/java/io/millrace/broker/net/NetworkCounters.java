package io.millrace.broker.net;

import io.millrace.broker.api.DistinctErrors;
import io.millrace.protocol.frame.ApiKind;
import io.millrace.protocol.message.Gauge;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;
import org.slf4j.LoggerFactory;

/** What the network layer counts; every name exists with 0 from the start. Threads: any. */
public final class NetworkCounters {

  final LongAdder accepted = new LongAdder();
  final LongAdder bytesIn = new LongAdder();
  final LongAdder bytesOut = new LongAdder();
  final LongAdder fileBytesOut = new LongAdder();
  final LongAdder unknownApi = new LongAdder();
  final LongAdder refusedRequests = new LongAdder();
  final LongAdder pauses = new LongAdder();
  final DistinctErrors errors = new DistinctErrors(LoggerFactory.getLogger(NettyServer.class));

  private final Map<ApiKind, LongAdder> requests = new EnumMap<>(ApiKind.class);
  private final Map<CloseReason, LongAdder> closed = new EnumMap<>(CloseReason.class);

  public NetworkCounters() {
    for (ApiKind kind : ApiKind.values()) {
      requests.put(kind, new LongAdder());
    }
    for (CloseReason reason : CloseReason.values()) {
      closed.put(reason, new LongAdder());
    }
  }

  void request(ApiKind kind) {
    requests.get(kind).increment();
  }

  void closed(CloseReason reason) {
    closed.get(reason).increment();
  }

  public long closedCount(CloseReason reason) {
    return closed.get(reason).sum();
  }

  public long requestCount(ApiKind kind) {
    return requests.get(kind).sum();
  }

  /** Requests of a kind that this broker does not know. */
  public long unknownApiCount() {
    return unknownApi.sum();
  }

  /** Faults of handlers, the logged and the counted ones. */
  public long errorCount() {
    return errors.total();
  }

  /** How often a connection was not read because of a limit. */
  public long pauseCount() {
    return pauses.sum();
  }

  /** Record batches that went from file to socket without a copy. */
  public long fileBytesOut() {
    return fileBytesOut.sum();
  }

  List<Gauge> gauges() {
    List<Gauge> gauges = new ArrayList<>();
    add(gauges, "net.accepted", accepted);
    add(gauges, "net.bytes.in", bytesIn);
    add(gauges, "net.bytes.out", bytesOut);
    add(gauges, "net.bytes.out.files", fileBytesOut);
    add(gauges, "net.requests.unknown", unknownApi);
    add(gauges, "net.requests.refused", refusedRequests);
    add(gauges, "net.pauses", pauses);
    gauges.add(gauge("net.errors", errors.total(), 0));
    requests.forEach((kind, count) -> add(gauges, "net.requests." + kind.name(), count));
    closed.forEach((reason, count) -> add(gauges, reason.counterName(), count));
    return gauges;
  }

  private static void add(List<Gauge> gauges, String name, LongAdder count) {
    gauges.add(gauge(name, count.sum(), 0));
  }

  static Gauge gauge(String name, long used, long limit) {
    return Gauge.newBuilder().setName(name).setUsed(used).setLimit(limit).build();
  }
}
