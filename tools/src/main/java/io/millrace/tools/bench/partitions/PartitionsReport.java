package io.millrace.tools.bench.partitions;

import io.millrace.tools.Output.Rows;
import io.millrace.tools.bench.Distribution;
import io.millrace.tools.records.Outcomes;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The figures of {@link PartitionsBench} as fields for output. Pure. */
final class PartitionsReport {
  private static final double NANOS_PER_MILLI = 1e6;
  private static final double MIB = 1024.0 * 1024;
  private static final int KIB = 1024;

  private PartitionsReport() {}

  static Map<String, Object> fields(PartitionsResult result) {
    var fields = new LinkedHashMap<String, Object>();
    fields.put("bench", "partitions");
    fields.put("partitions", result.partitions());
    fields.put("topics", result.topics());
    fields.put("replicas", result.replicas());
    fields.put("createReturnedMillis", millis(result.createReturnedNanos()));
    fields.put("allLedMillis", millis(result.allLedNanos()));
    fields.put("ackedOnEachMillis", millis(result.ackedNanos()));
    fields.put("acked", result.acked().acked());
    fields.put("errors", errors(result.acked()));
    fields.put("idle", idle(result.idle()));
    fields.put("idleRequests", kinds(result.idle()));
    if (result.kill() != null) {
      kill(fields, result.kill());
    }
    return fields;
  }

  private static Rows idle(Map<Integer, BrokerSample.Usage> idle) {
    var rows =
        new Rows(
            List.of(
                "broker",
                "seconds",
                "cpuPercent",
                "threads",
                "rssMib",
                "heapMib",
                "waitsPerSecond",
                "preemptionsPerSecond",
                "requestsPerSecond",
                "inKibPerSecond",
                "outKibPerSecond",
                "diskWriteKib"));
    idle.forEach(
        (broker, usage) ->
            rows.add(
                broker,
                tenths(usage.seconds()),
                hundredths(usage.cpuPercent()),
                usage.threads(),
                tenths(usage.rssBytes() / MIB),
                usage.heapBytes() < 0 ? null : tenths(usage.heapBytes() / MIB),
                tenths(usage.voluntarySwitchesPerSecond()),
                tenths(usage.involuntarySwitchesPerSecond()),
                tenths(usage.requestsPerSecond()),
                tenths(usage.bytesInPerSecond() / KIB),
                tenths(usage.bytesOutPerSecond() / KIB),
                usage.diskWriteBytes() / KIB));
    return rows;
  }

  private static Rows kinds(Map<Integer, BrokerSample.Usage> idle) {
    var rows = new Rows(List.of("broker", "request", "perSecond"));
    idle.forEach(
        (broker, usage) ->
            usage
                .kindsPerSecond()
                .forEach((kind, perSecond) -> rows.add(broker, kind, hundredths(perSecond))));
    return rows;
  }

  private static void kill(Map<String, Object> fields, PartitionsResult.Kill kill) {
    fields.put("killedBroker", kill.broker());
    fields.put("killedMetadataLeader", kill.metadataLeader());
    fields.put("killedLed", kill.affected());
    fields.put("withoutLeader", kill.unled());
    fields.put("ledAgain", kill.ledNanos().size());
    if (!kill.ledNanos().isEmpty()) {
      Distribution led = Distribution.of(kill.ledNanos());
      fields.put("ledAgainMinMillis", millis(led.min()));
      fields.put("ledAgainMedianMillis", millis(led.median()));
      fields.put("ledAgainP90Millis", millis(led.p90()));
      fields.put("ledAgainMaxMillis", millis(led.max()));
    }
    fields.put("ackedOnEachAfterKillMillis", millis(kill.ackedNanos()));
    fields.put("ackedAfterKill", kill.acked().acked());
    fields.put("errorsAfterKill", errors(kill.acked()));
    fields.put("inSyncAfterStartMillis", millis(kill.syncNanos()));
  }

  private static Rows errors(AckEach.Result acked) {
    var rows = new Rows(List.of("error", "outcome", "records", "text"));
    for (Outcomes.Failure failure : acked.failures()) {
      rows.add(failure.code().name(), failure.outcome().name(), failure.records(), failure.text());
    }
    if (acked.undecided() > 0) {
      rows.add("none", "UNKNOWN", acked.undecided(), "no answer when the time was over");
    }
    return rows;
  }

  private static double millis(double nanos) {
    return tenths(nanos / NANOS_PER_MILLI);
  }

  private static double tenths(double value) {
    return Math.round(value * 10) / 10.0;
  }

  private static double hundredths(double value) {
    return Math.round(value * 100) / 100.0;
  }
}
