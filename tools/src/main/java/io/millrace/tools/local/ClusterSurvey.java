package io.millrace.tools.local;

import io.millrace.client.Admin;
import io.millrace.protocol.message.BrokerStatusResponse;
import io.millrace.protocol.message.DiskStatus;
import io.millrace.protocol.message.MetadataResponse;
import io.millrace.tools.local.ClusterView.BrokerReport;
import io.millrace.tools.local.ClusterView.Group;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;

/** Asks the operating system and every running broker how they are, each within a time limit. */
final class ClusterSurvey {
  private static final Group METADATA = new Group("", 0);

  private final List<BrokerProcess> brokers;
  private final Map<Integer, ProcessIdentity.State> states = new HashMap<>();

  ClusterSurvey(LocalCluster cluster) throws IOException {
    this.brokers = cluster.brokers();
    for (BrokerProcess broker : brokers) {
      states.put(broker.member().id(), broker.state());
    }
  }

  boolean anyRunning() {
    return states.containsValue(ProcessIdentity.State.RUNNING);
  }

  List<String> runningAddresses() {
    return brokers.stream()
        .filter(broker -> states.get(broker.member().id()) == ProcessIdentity.State.RUNNING)
        .map(broker -> broker.member().address())
        .toList();
  }

  ClusterView withoutAnswers() throws IOException {
    var reports = new ArrayList<BrokerReport>();
    for (BrokerProcess broker : brokers) {
      reports.add(report(broker, null, null));
    }
    return new ClusterView(reports, Map.of(METADATA, members()));
  }

  ClusterView ask(Admin admin, Duration limit) throws IOException, InterruptedException {
    var statuses = new HashMap<Integer, CompletableFuture<BrokerStatusResponse>>();
    var metadata = new ArrayList<CompletableFuture<MetadataResponse>>();
    for (BrokerProcess broker : brokers) {
      int id = broker.member().id();
      if (states.get(id) == ProcessIdentity.State.RUNNING) {
        statuses.put(id, admin.brokerStatus(id));
        metadata.add(admin.brokerMetadata(id));
      }
    }
    long deadline = System.nanoTime() + limit.toNanos();
    var answers = new HashMap<Integer, BrokerStatusResponse>();
    var notes = new HashMap<Integer, String>();
    for (var status : statuses.entrySet()) {
      int id = status.getKey();
      try {
        answers.put(id, status.getValue().get(left(deadline), TimeUnit.NANOSECONDS));
      } catch (ExecutionException e) {
        notes.put(id, "does not answer: " + e.getCause().getMessage());
      } catch (TimeoutException e) {
        notes.put(id, "no answer in " + limit.toMillis() + " ms");
      }
    }
    var reach = new PeerReach(answers);
    var reports = new ArrayList<BrokerReport>();
    for (BrokerProcess broker : brokers) {
      int id = broker.member().id();
      if (answers.containsKey(id)) {
        reach.trouble(id).ifPresent(trouble -> notes.put(id, trouble));
      }
      reports.add(report(broker, answers.get(id), notes.get(id)));
    }
    // Without an answer about topics the view rests on the reports alone.
    Map<Group, Set<Integer>> assigned = new MetadataAnswers(got(metadata, deadline)).assigned();
    assigned.put(METADATA, members());
    return new ClusterView(reports, assigned);
  }

  private static long left(long deadlineNanos) {
    return Math.max(1, deadlineNanos - System.nanoTime());
  }

  private static List<MetadataResponse> got(
      List<CompletableFuture<MetadataResponse>> asked, long deadlineNanos)
      throws InterruptedException {
    var answers = new ArrayList<MetadataResponse>();
    for (CompletableFuture<MetadataResponse> each : asked) {
      try {
        answers.add(each.get(left(deadlineNanos), TimeUnit.NANOSECONDS));
      } catch (ExecutionException | TimeoutException e) {
        // Others may know. That this broker does not answer is said where its status is missing;
        // one that has just started refuses this question alone, until it has heard the leader.
      }
    }
    return answers;
  }

  /** Every broker of the cluster's file holds the metadata. */
  private Set<Integer> members() {
    return brokers.stream().map(broker -> broker.member().id()).collect(Collectors.toSet());
  }

  private BrokerReport report(BrokerProcess broker, BrokerStatusResponse answer, String trouble)
      throws IOException {
    var member = broker.member();
    ProcessIdentity.State state = states.get(member.id());
    String word =
        switch (state) {
          case RUNNING -> answer == null ? "unreachable" : "running";
          case PAUSED -> "paused";
          case GONE -> "down";
        };
    String note =
        switch (state) {
          case RUNNING -> trouble == null && answer != null ? diskTrouble(answer) : trouble;
          case PAUSED -> "resume it with: millrace cluster resume " + member.id();
          case GONE -> "start it with: millrace cluster start " + member.id();
        };
    return new BrokerReport(
        member.id(),
        member.address(),
        word,
        broker.pid().orElse(null),
        broker.uptime().map(Duration::toMillis).orElse(null),
        answer,
        note);
  }

  /** Null while there is room. */
  private static String diskTrouble(BrokerStatusResponse answer) {
    DiskStatus disk = answer.getDisk();
    return switch (disk.getLevel()) {
      case DISK_LOW ->
          "disk low, " + disk.getFreeBytes() + " bytes free: takes no records and no new topics";
      case DISK_CRITICAL ->
          "disk full, " + disk.getFreeBytes() + " bytes free: takes only what makes room";
      default -> null;
    };
  }
}
