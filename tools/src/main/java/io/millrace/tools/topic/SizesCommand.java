package io.millrace.tools.topic;

import io.millrace.client.Admin;
import io.millrace.client.ClusterDescription;
import io.millrace.client.MillraceClient;
import io.millrace.protocol.error.MillraceException;
import io.millrace.protocol.message.BrokerStatusResponse;
import io.millrace.protocol.message.ReplicaRole;
import io.millrace.protocol.message.ReplicaStatus;
import io.millrace.protocol.message.SegmentStatus;
import io.millrace.tools.Calls;
import io.millrace.tools.ConnectOptions;
import io.millrace.tools.ExitCodes;
import io.millrace.tools.MillraceCommand;
import io.millrace.tools.Output.Rows;
import io.millrace.tools.UsageFailure;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code millrace topic sizes}: how much each replica of each partition has on disk. */
@Command(
    name = "sizes",
    description = {
      "Show the bytes on disk: of all topics, or of one topic per partition and replica, with"
          + " --segments per segment.",
      "A broker that does not answer is left out and named; exit code 1."
    })
final class SizesCommand implements Callable<Integer> {
  private final MillraceCommand root;

  @Mixin private ConnectOptions connect;

  @Parameters(paramLabel = "TOPIC", arity = "0..1", description = "One topic, in detail")
  private String topic;

  @Option(names = "--segments", description = "List every segment of the topic's replicas")
  private boolean segments;

  SizesCommand(MillraceCommand root) {
    this.root = root;
  }

  /** One broker's replica. */
  record Held(int broker, ReplicaStatus status) {}

  @Override
  public Integer call() throws InterruptedException {
    if (segments && topic == null) {
      throw new UsageFailure("--segments needs a TOPIC");
    }
    try (MillraceClient client = connect.connect(root)) {
      if (topic != null) {
        Topics.existing(client.admin(), topic, connect.requestTimeout());
      }
      var silent = new ArrayList<Integer>();
      List<Held> held = ask(client.admin(), silent);
      var fields = new LinkedHashMap<String, Object>();
      if (topic == null) {
        fields.put("topics", topicRows(held));
      } else {
        fields.put("topic", topic);
        fields.put("replicas", replicaRows(held, topic));
        if (segments) {
          fields.put("segments", segmentRows(held, topic));
        }
      }
      if (!silent.isEmpty()) {
        fields.put("brokersWithoutAnswer", silent);
      }
      root.output().fields(fields);
      return silent.isEmpty() ? ExitCodes.OK : ExitCodes.FAILED;
    }
  }

  private List<Held> ask(Admin admin, List<Integer> silent) throws InterruptedException {
    var answers = new TreeMap<Integer, CompletableFuture<BrokerStatusResponse>>();
    ClusterDescription cluster = Calls.await(admin.describeCluster(), connect.requestTimeout());
    for (ClusterDescription.Broker broker : cluster.brokers()) {
      answers.put(broker.id(), admin.brokerStatus(broker.id(), segments ? topic : ""));
    }
    var held = new ArrayList<Held>();
    for (Map.Entry<Integer, CompletableFuture<BrokerStatusResponse>> answer : answers.entrySet()) {
      try {
        Calls.await(answer.getValue(), connect.requestTimeout())
            .getReplicasList()
            .forEach(status -> held.add(new Held(answer.getKey(), status)));
      } catch (MillraceException e) {
        silent.add(answer.getKey());
        root.progress().step("broker " + answer.getKey() + " does not answer: " + e.getMessage());
      }
    }
    held.sort(
        Comparator.comparing((Held each) -> each.status().getTopic())
            .thenComparingInt(each -> each.status().getPartition())
            .thenComparingInt(Held::broker));
    return held;
  }

  /** One line per topic; the metadata has no name. */
  static Rows topicRows(List<Held> held) {
    var rows =
        new Rows(List.of("topic", "partitions", "replicas", "segments", "bytes", "leaderBytes"));
    var byTopic = new LinkedHashMap<String, List<Held>>();
    for (Held each : held) {
      byTopic.computeIfAbsent(each.status().getTopic(), name -> new ArrayList<>()).add(each);
    }
    byTopic.forEach(
        (name, all) ->
            rows.add(
                name.isEmpty() ? "(metadata)" : name,
                all.stream().map(each -> each.status().getPartition()).distinct().count(),
                all.size(),
                all.stream().mapToInt(each -> each.status().getSegments()).sum(),
                all.stream().mapToLong(each -> each.status().getBytes()).sum(),
                all.stream()
                    .filter(SizesCommand::leads)
                    .mapToLong(each -> each.status().getBytes())
                    .sum()));
    return rows;
  }

  private static boolean leads(Held held) {
    return held.status().getRole() == ReplicaRole.ROLE_LEADER;
  }

  static Rows replicaRows(List<Held> held, String topic) {
    var rows =
        new Rows(
            List.of("partition", "broker", "leads", "segments", "bytes", "logStart", "logEnd"));
    for (Held each : of(held, topic)) {
      ReplicaStatus status = each.status();
      rows.add(
          status.getPartition(),
          each.broker(),
          leads(each),
          status.getSegments(),
          status.getBytes(),
          status.getLogStart(),
          status.getLogEnd());
    }
    return rows;
  }

  static Rows segmentRows(List<Held> held, String topic) {
    var rows =
        new Rows(
            List.of(
                "partition",
                "broker",
                "firstOffset",
                "nextOffset",
                "firstIndex",
                "lastIndex",
                "bytes",
                "closed",
                "firstLogTime",
                "lastLogTime",
                "maxTimestamp"));
    for (Held each : of(held, topic)) {
      for (SegmentStatus segment : each.status().getSegmentListList()) {
        rows.add(
            each.status().getPartition(),
            each.broker(),
            segment.getBaseOffset(),
            segment.getNextOffset(),
            segment.getFirstIndex(),
            segment.getLastIndex(),
            segment.getBytes(),
            segment.getClosed(),
            time(segment.getFirstLogTime()),
            time(segment.getLastLogTime()),
            time(segment.getMaxTimestamp()));
      }
    }
    return rows;
  }

  private static List<Held> of(List<Held> held, String topic) {
    return held.stream().filter(each -> each.status().getTopic().equals(topic)).toList();
  }

  private static String time(long millis) {
    return millis < 0 ? null : Instant.ofEpochMilli(millis).toString();
  }
}
