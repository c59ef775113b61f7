package io.millrace.tools.local;

import io.millrace.client.Admin;
import io.millrace.client.TopicDescription;
import io.millrace.protocol.message.BrokerStatusResponse;
import io.millrace.tools.local.ClusterView.BrokerReport;
import io.millrace.tools.local.ClusterView.Group;
import io.millrace.tools.topic.Topics;
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
    CompletableFuture<List<TopicDescription>> topics = Topics.all(admin);
    var answers = new HashMap<Integer, CompletableFuture<BrokerStatusResponse>>();
    for (BrokerProcess broker : brokers) {
      int id = broker.member().id();
      if (states.get(id) == ProcessIdentity.State.RUNNING) {
        answers.put(id, admin.brokerStatus(id));
      }
    }
    long deadline = System.nanoTime() + limit.toNanos();
    var reports = new ArrayList<BrokerReport>();
    for (BrokerProcess broker : brokers) {
      var answer = answers.get(broker.member().id());
      if (answer == null) {
        reports.add(report(broker, null, null));
        continue;
      }
      try {
        long left = Math.max(1, deadline - System.nanoTime());
        reports.add(report(broker, answer.get(left, TimeUnit.NANOSECONDS), null));
      } catch (ExecutionException e) {
        reports.add(report(broker, null, "does not answer: " + e.getCause().getMessage()));
      } catch (TimeoutException e) {
        reports.add(report(broker, null, "no answer in " + limit.toMillis() + " ms"));
      }
    }
    return new ClusterView(reports, assigned(topics, deadline));
  }

  /** Every broker of the cluster's file holds the metadata. */
  private Set<Integer> members() {
    return brokers.stream().map(broker -> broker.member().id()).collect(Collectors.toSet());
  }

  /** Only the metadata when nobody tells: for topics the view then rests on the reports alone. */
  private Map<Group, Set<Integer>> assigned(
      CompletableFuture<List<TopicDescription>> topics, long deadlineNanos)
      throws InterruptedException {
    var assigned = new HashMap<Group, Set<Integer>>();
    assigned.put(METADATA, members());
    try {
      long left = Math.max(1, deadlineNanos - System.nanoTime());
      for (var topic : topics.get(left, TimeUnit.NANOSECONDS)) {
        for (var partition : topic.partitions()) {
          assigned.put(
              new Group(topic.name(), partition.partition()),
              partition.replicas().stream()
                  .map(TopicDescription.Replica::broker)
                  .collect(Collectors.toSet()));
        }
      }
    } catch (ExecutionException | TimeoutException e) {
      return Map.of(METADATA, members());
    }
    return assigned;
  }

  private BrokerReport report(BrokerProcess broker, BrokerStatusResponse answer, String why)
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
          case RUNNING -> why;
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
}
