package io.millrace.tools.local;

import io.millrace.protocol.message.BrokerStatusResponse;
import io.millrace.protocol.message.FlowFaults;
import io.millrace.protocol.message.PeerFaults;
import io.millrace.protocol.message.RefillStatus;
import io.millrace.protocol.message.ReplicaHealth;
import io.millrace.protocol.message.ReplicaRole;
import io.millrace.protocol.message.ReplicaStatus;
import io.millrace.tools.Output.Rows;
import io.millrace.tools.Words;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * What the brokers of a cluster report, put side by side: who leads what, how far each partition
 * is, and what is wrong with it. Pure: made from reports, asks nobody.
 */
final class ClusterView {
  private static final String METADATA_GROUP = "(metadata)";
  private static final List<String> PARTITION_COLUMNS =
      List.of(
          "topic",
          "partition",
          "leader",
          "term",
          "replicas",
          "logEnd",
          "committedEnd",
          "lag",
          "health");

  /**
   * A broker and what it said.
   *
   * @param report null when it did not answer; {@code note} then says why
   * @param note what is wrong with it and what to do; null: nothing
   */
  record BrokerReport(
      int id,
      String address,
      String state,
      Long pid,
      Long uptimeMillis,
      BrokerStatusResponse report,
      String note) {}

  /** A Raft group: a partition, or with an empty topic the metadata. */
  record Group(String topic, int partition) implements Comparable<Group> {
    private static final Comparator<Group> ORDER =
        Comparator.comparing(Group::topic).thenComparingInt(Group::partition);

    @Override
    public int compareTo(Group other) {
      return ORDER.compare(this, other);
    }

    boolean isMetadata() {
      return topic.isEmpty();
    }

    String name() {
      return isMetadata() ? METADATA_GROUP : topic;
    }
  }

  private record Replica(int broker, ReplicaStatus status) {}

  private final List<BrokerReport> brokers;
  private final Map<Group, List<Replica>> replicas = new TreeMap<>();
  private final Map<Group, Set<Integer>> assigned;

  /**
   * @param assigned the brokers that should hold each group; groups that are not in it are judged
   *     by the reports alone
   */
  ClusterView(List<BrokerReport> brokers, Map<Group, Set<Integer>> assigned) {
    this.brokers = List.copyOf(brokers);
    this.assigned = new TreeMap<>(assigned);
    for (BrokerReport broker : brokers) {
      if (broker.report() != null) {
        for (ReplicaStatus status : broker.report().getReplicasList()) {
          replicas
              .computeIfAbsent(
                  new Group(status.getTopic(), status.getPartition()), group -> new ArrayList<>())
              .add(new Replica(broker.id(), status));
        }
      }
    }
    for (Group group : assigned.keySet()) {
      replicas.computeIfAbsent(group, each -> new ArrayList<>());
    }
  }

  /**
   * @param forPeople the uptime in words, otherwise in milliseconds
   */
  Rows brokerRows(boolean forPeople) {
    var rows =
        new Rows(
            List.of(
                "broker",
                "state",
                "address",
                "pid",
                forPeople ? "uptime" : "uptimeMillis",
                "replicas",
                "leads",
                "note"));
    for (BrokerReport broker : brokers) {
      BrokerStatusResponse report = broker.report();
      rows.add(
          broker.id(),
          broker.state(),
          broker.address(),
          broker.pid(),
          broker.uptimeMillis() == null || !forPeople
              ? broker.uptimeMillis()
              : Words.millis(broker.uptimeMillis()),
          report == null ? null : report.getReplicasCount(),
          report == null
              ? null
              : replicas.values().stream()
                  .map(ClusterView::leaderOf)
                  .filter(leader -> leader != null && leader.broker() == broker.id())
                  .count(),
          broker.note());
    }
    return rows;
  }

  Rows partitionRows() {
    var rows = new Rows(PARTITION_COLUMNS);
    replicas.forEach((group, held) -> rows.add(partitionRow(group, held)));
    return rows;
  }

  /** One line per direction that a broker was told to disturb, and which broker does it. */
  Rows faultRows() {
    var rows =
        new Rows(
            List.of(
                "broker", "from", "to", "dropped", "latencyMillis", "jitterMillis", "lossPercent"));
    for (BrokerReport broker : brokers) {
      if (broker.report() != null) {
        for (PeerFaults peer : broker.report().getNetworkFaultsList()) {
          addFault(rows, broker.id(), broker.id(), peer.getBrokerId(), peer.getTo());
          addFault(rows, broker.id(), peer.getBrokerId(), broker.id(), peer.getFrom());
        }
      }
    }
    return rows;
  }

  private static void addFault(Rows rows, int broker, int from, int to, FlowFaults flow) {
    if (!flow.equals(FlowFaults.getDefaultInstance())) {
      rows.add(
          broker,
          from,
          to,
          flow.getDropped(),
          flow.getLatencyMillis(),
          flow.getJitterMillis(),
          flow.getLossPercent());
    }
  }

  /** As {@link #partitionRows}, of those with a problem only. */
  Rows unhealthyRows(int most) {
    var rows = new Rows(PARTITION_COLUMNS);
    replicas.entrySet().stream()
        .filter(entry -> !problems(entry.getKey(), entry.getValue()).isEmpty())
        .limit(most)
        .forEach(entry -> rows.add(partitionRow(entry.getKey(), entry.getValue())));
    return rows;
  }

  private Object[] partitionRow(Group group, List<Replica> held) {
    Replica leader = leaderOf(held);
    List<String> problems = problems(group, held);
    return new Object[] {
      group.name(),
      group.partition(),
      leader == null ? null : leader.broker(),
      held.stream().mapToLong(replica -> replica.status().getTerm()).max().orElse(0),
      new ArrayList<>(holders(group, held)),
      leader == null || group.isMetadata() ? null : leader.status().getLogEnd(),
      leader == null || group.isMetadata() ? null : leader.status().getCommittedEnd(),
      leader == null ? null : lags(group, held, leader),
      problems.isEmpty() ? "ok" : String.join("; ", problems)
    };
  }

  /** One line per topic: who leads how much of it, and how much of it is not as it should be. */
  Rows topicRows() {
    var rows = new Rows(List.of("topic", "partitions", "led", "leaders", "maxLag", "notOk"));
    var byTopic = new TreeMap<String, List<Map.Entry<Group, List<Replica>>>>();
    for (var entry : replicas.entrySet()) {
      byTopic.computeIfAbsent(entry.getKey().topic(), topic -> new ArrayList<>()).add(entry);
    }
    byTopic.values().forEach(partitions -> rows.add(topicRow(partitions)));
    return rows;
  }

  private Object[] topicRow(List<Map.Entry<Group, List<Replica>>> partitions) {
    var led = new TreeMap<Integer, Integer>();
    Long maxLag = null;
    int notOk = 0;
    for (var entry : partitions) {
      Replica leader = leaderOf(entry.getValue());
      if (leader != null) {
        led.merge(leader.broker(), 1, Integer::sum);
        for (Long lag : lags(entry.getKey(), entry.getValue(), leader)) {
          maxLag = lag == null ? maxLag : Long.valueOf(Math.max(lag, maxLag == null ? 0 : maxLag));
        }
      }
      notOk += problems(entry.getKey(), entry.getValue()).isEmpty() ? 0 : 1;
    }
    return new Object[] {
      partitions.get(0).getKey().name(),
      partitions.size(),
      led.values().stream().mapToInt(Integer::intValue).sum(),
      led.entrySet().stream().map(each -> each.getKey() + ":" + each.getValue()).toList(),
      maxLag,
      notOk
    };
  }

  /** The metadata group included. */
  int partitionCount() {
    return replicas.size();
  }

  int unhealthyCount() {
    return (int)
        replicas.entrySet().stream()
            .filter(entry -> !problems(entry.getKey(), entry.getValue()).isEmpty())
            .count();
  }

  boolean allAnswered() {
    return brokers.stream().allMatch(broker -> broker.report() != null);
  }

  /** True when every broker answered and nothing is wrong with it or with a partition. */
  boolean healthy() {
    return brokers.stream().allMatch(broker -> broker.report() != null && broker.note() == null)
        && unhealthyCount() == 0;
  }

  /**
   * Why not every replica of every partition has all that its leader has, in words; empty when it
   * has.
   */
  Optional<String> notInSync() {
    for (BrokerReport broker : brokers) {
      if (broker.report() == null) {
        return Optional.of("broker " + broker.id() + " does not answer");
      }
      if (broker.note() != null) {
        return Optional.of("broker " + broker.id() + ": " + broker.note());
      }
    }
    for (var entry : replicas.entrySet()) {
      Group group = entry.getKey();
      List<String> problems = problems(group, entry.getValue());
      if (!problems.isEmpty()) {
        return Optional.of(
            group.name() + "-" + group.partition() + ": " + String.join("; ", problems));
      }
      Replica leader = leaderOf(entry.getValue());
      for (Replica replica : entry.getValue()) {
        // All follow it: an index alone could be that of entries which the leader does not have.
        if (replica.status().getLastIndex() != leader.status().getLastIndex()) {
          return Optional.of(
              group.name()
                  + "-"
                  + group.partition()
                  + ": broker "
                  + replica.broker()
                  + " is at index "
                  + replica.status().getLastIndex()
                  + " of term "
                  + replica.status().getTerm()
                  + ", its leader "
                  + leader.broker()
                  + " at index "
                  + leader.status().getLastIndex()
                  + " of term "
                  + leader.status().getTerm());
        }
      }
    }
    return Optional.empty();
  }

  /** The leader of the newest term: a deposed one may not have noticed yet. */
  private static Replica leaderOf(List<Replica> held) {
    return held.stream()
        .filter(replica -> replica.status().getRole() == ReplicaRole.ROLE_LEADER)
        .max(Comparator.comparingLong(replica -> replica.status().getTerm()))
        .orElse(null);
  }

  /**
   * Records that each holder has not got yet, of the metadata entries, in the order of the holders;
   * null where nobody tells.
   */
  private List<Long> lags(Group group, List<Replica> held, Replica leader) {
    var lags = new ArrayList<Long>();
    for (int holder : holders(group, held)) {
      lags.add(
          held.stream()
              .filter(replica -> replica.broker() == holder)
              .findFirst()
              // Not below 0: the leader may have been asked earlier, or the other have a tail that
              // it does not share.
              .map(replica -> Math.max(0, end(group, leader) - end(group, replica)))
              .orElse(null));
    }
    return lags;
  }

  private static long end(Group group, Replica replica) {
    return group.isMetadata() ? replica.status().getLastIndex() : replica.status().getLogEnd();
  }

  private Set<Integer> holders(Group group, List<Replica> held) {
    var holders = new TreeSet<Integer>(assigned.getOrDefault(group, Set.of()));
    held.forEach(replica -> holders.add(replica.broker()));
    return holders;
  }

  private List<String> problems(Group group, List<Replica> held) {
    var problems = new ArrayList<String>();
    Replica leader = leaderOf(held);
    if (leader == null) {
      problems.add("no leader");
    }
    for (int holder : holders(group, held)) {
      Replica replica =
          held.stream().filter(each -> each.broker() == holder).findFirst().orElse(null);
      if (replica == null) {
        boolean answered =
            brokers.stream().anyMatch(each -> each.id() == holder && each.report() != null);
        problems.add("broker " + holder + (answered ? " has not started it" : " does not answer"));
        continue;
      }
      ReplicaStatus status = replica.status();
      if (status.getHealth() != ReplicaHealth.HEALTH_OK) {
        problems.add(
            "broker "
                + holder
                + " "
                + status.getHealth().name().replace("HEALTH_", "")
                + (status.getReason().isEmpty() ? "" : " (" + status.getReason() + ")")
                + refill(status));
      } else if (status.getRole() == ReplicaRole.ROLE_ERROR) {
        problems.add(
            "broker "
                + holder
                + " stopped on an error"
                + (status.getReason().isEmpty() ? "" : " (" + status.getReason() + ")"));
      } else if (leader != null && !follows(replica, leader)) {
        problems.add("broker " + holder + " does not follow the leader");
      }
    }
    return problems;
  }

  private static String refill(ReplicaStatus status) {
    if (!status.hasRefill()) {
      return "";
    }
    RefillStatus refill = status.getRefill();
    if (refill.getFromBroker() == 0 || refill.getTargetIndex() == 0) {
      return ", refill: " + refill.getStep();
    }
    return ", refill: "
        + refill.getStep()
        + " from broker "
        + refill.getFromBroker()
        + ", entry "
        + refill.getNextIndex()
        + " of "
        + refill.getTargetIndex()
        + ", "
        + refill.getCopiedBytes()
        + " bytes";
  }

  /**
   * How far it is behind says nothing: under load all are, and one that hears nothing can be level
   * with a leader that has no traffic.
   */
  private static boolean follows(Replica replica, Replica leader) {
    return replica == leader
        || replica.status().getTerm() == leader.status().getTerm()
            && replica.status().getLeader() == leader.broker();
  }
}
