package io.millrace.tools.bench.partitions;

import io.millrace.protocol.frame.ApiKind;
import io.millrace.protocol.message.BrokerStatusResponse;
import io.millrace.protocol.message.Gauge;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;

/**
 * A broker at about one moment: what the kernel says of its process and what it counts itself.
 *
 * @param uptimeMillis of the broker when it counted: a busy one answers late
 * @param counters of its status, by name
 * @param statusBytes size of the status answer, which it had not counted when it made it
 */
record BrokerSample(
    ProcessSample process, long uptimeMillis, Map<String, Long> counters, long statusBytes) {
  private static final String REQUESTS = "net.requests.";
  private static final String HEAP = "jvm.heap.bytes";
  private static final double MILLIS_PER_SECOND = 1e3;

  /**
   * What a broker did between two samples.
   *
   * @param cpuPercent of one core
   * @param heapBytes used, garbage included; -1 = the broker does not say
   * @param requestsPerSecond frames that it took; each is answered by one frame
   * @param kindsPerSecond the same by kind, only kinds that came
   * @param bytesInPerSecond of these frames, bytesOut of the answers; what it sends itself is
   *     counted by the brokers that take it
   */
  record Usage(
      double seconds,
      double cpuPercent,
      int threads,
      long rssBytes,
      long heapBytes,
      double voluntarySwitchesPerSecond,
      double involuntarySwitchesPerSecond,
      double requestsPerSecond,
      Map<String, Double> kindsPerSecond,
      double bytesInPerSecond,
      double bytesOutPerSecond,
      long diskWriteBytes) {}

  static BrokerSample of(ProcessSample process, BrokerStatusResponse status) {
    var counters = new HashMap<String, Long>();
    for (Gauge gauge : status.getGaugesList()) {
      counters.put(gauge.getName(), gauge.getUsed());
    }
    return new BrokerSample(
        process, status.getUptimeMillis(), counters, status.getSerializedSize());
  }

  Usage since(BrokerSample then) {
    double seconds = process.secondsSince(then.process);
    double counted = Math.max(uptimeMillis - then.uptimeMillis, 1) / MILLIS_PER_SECOND;
    var kinds = new TreeMap<String, Double>();
    double requests = 0;
    for (ApiKind kind : ApiKind.values()) {
      long count = count(then, REQUESTS + kind.name());
      if (kind == ApiKind.BROKER_STATUS) {
        // Our own question at the end.
        count--;
      }
      if (count > 0) {
        kinds.put(kind.name(), count / counted);
        requests += count / counted;
      }
    }
    ProcessSample.Switches switches = process.switchesSince(then.process);
    long bytesOut = count(then, "net.bytes.out") - then.statusBytes;
    return new Usage(
        seconds,
        process.cpuPercentSince(then.process),
        process.threads(),
        process.rssBytes(),
        counters.getOrDefault(HEAP, -1L),
        switches.voluntary() / seconds,
        switches.involuntary() / seconds,
        requests,
        kinds,
        count(then, "net.bytes.in") / counted,
        Math.max(0, bytesOut) / counted,
        process.diskWriteBytes() - then.process.diskWriteBytes());
  }

  private long count(BrokerSample then, String name) {
    return counters.getOrDefault(name, 0L) - then.counters.getOrDefault(name, 0L);
  }
}
