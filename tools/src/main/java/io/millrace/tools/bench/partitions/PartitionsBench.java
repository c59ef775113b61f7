package io.millrace.tools.bench.partitions;

import io.millrace.client.Admin;
import io.millrace.client.ClientConfig;
import io.millrace.client.MillraceClient;
import io.millrace.client.Producer;
import io.millrace.client.ProducerConfig;
import io.millrace.client.TopicDescription;
import io.millrace.client.TopicSpec;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.error.MillraceException;
import io.millrace.protocol.message.BrokerStatusResponse;
import io.millrace.tools.Calls;
import io.millrace.tools.CommandFailure;
import io.millrace.tools.ConnectOptions;
import io.millrace.tools.Progress;
import io.millrace.tools.Waits;
import io.millrace.tools.Words;
import io.millrace.tools.local.ClusterFile;
import io.millrace.tools.local.LocalCluster;
import io.millrace.tools.local.ReplicaSync;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;

/**
 * What many partitions cost a local cluster: their creation, an idle minute, the death of a broker.
 *
 * <p>Owns: the topics that it makes, and the state of the broker that it kills.
 *
 * <p>Threads: {@link #run} on one; {@link #stop} from any.
 */
final class PartitionsBench {
  /**
   * @param settle quiet before the idle window
   * @param limit for each wait: leaders, acknowledgements, replicas in sync
   */
  record Plan(
      int partitions, int replicas, Duration settle, Duration idle, boolean kill, Duration limit) {}

  /** What the cluster takes in one topic. */
  static final int MOST_IN_ONE_TOPIC = 1_000;

  /** Each look asks for the metadata of all partitions, on the machine that is measured. */
  private static final long POLL_MILLIS = 150;

  private static final Duration START_LIMIT = Duration.ofSeconds(60);
  private static final Duration POLL_REQUEST_LIMIT = Duration.ofSeconds(5);

  private final LocalCluster cluster;
  private final Plan plan;
  private final Progress progress;
  private final String name = "bench-partitions-" + UUID.randomUUID().toString().substring(0, 8);
  private final List<String> created = new ArrayList<>();
  private volatile boolean stopped;

  PartitionsBench(LocalCluster cluster, Plan plan, Progress progress) {
    this.cluster = cluster;
    this.plan = plan;
    this.progress = progress;
  }

  /** Ends it early: {@link #run} then throws, with the broker brought back. */
  void stop() {
    stopped = true;
  }

  /** Topics that were made, or may have been. */
  List<String> topics() {
    return List.copyOf(created);
  }

  PartitionsResult run() throws IOException, InterruptedException {
    ReplicaSync.await(cluster, plan.limit());
    try (MillraceClient control = connect(cluster.file().addresses(), plan.limit());
        MillraceClient client =
            MillraceClient.connect(new ClientConfig(cluster.file().addresses()))) {
      long startNanos = System.nanoTime();
      for (int left = plan.partitions(); left > 0; left -= MOST_IN_ONE_TOPIC) {
        create(control.admin(), Math.min(left, MOST_IN_ONE_TOPIC));
      }
      long createReturned = System.nanoTime() - startNanos;
      List<TopicDescription> topics = awaitLeaders(control.admin(), startNanos);
      long allLed = System.nanoTime() - startNanos;
      progress.step(
          Words.count(plan.partitions(), "partition")
              + " created, all led after "
              + Words.millis(allLed / 1_000_000));
      AckEach.Result acked;
      // It stays open: after the kill it is a client that knows the old leaders.
      try (Producer producer = client.producer(new ProducerConfig())) {
        acked = AckEach.send(producer, topics, plan.limit());
        long ackedAfter = allLed + acked.nanos();
        progress.step(
            Words.count(acked.acked(), "record") + " acknowledged, one on each partition");
        requireGoingOn();
        Map<Integer, BrokerSample.Usage> idle = idle(control.admin());
        PartitionsResult.Kill kill = plan.kill() ? kill(control, producer, topics) : null;
        return new PartitionsResult(
            plan.partitions(),
            topics.size(),
            plan.replicas(),
            createReturned,
            allLed,
            acked,
            ackedAfter,
            idle,
            kill);
      }
    }
  }

  private static MillraceClient connect(List<String> addresses, Duration limit) {
    return ConnectOptions.connect(addresses, limit);
  }

  private void create(Admin admin, int partitions) throws InterruptedException {
    String topic = name + "-" + (created.size() + 1);
    created.add(topic);
    try {
      Calls.await(
          admin.createTopic(TopicSpec.of(topic, partitions, plan.replicas())), plan.limit());
    } catch (MillraceException e) {
      if (e.code() != ErrorCode.IN_PROGRESS) {
        throw e;
      }
      // It is there; the wait for its leaders goes on.
      progress.step(e.getMessage());
    }
  }

  private List<TopicDescription> describe(Admin admin, Duration limit) throws InterruptedException {
    var topics = new ArrayList<TopicDescription>();
    for (String topic : created) {
      topics.add(Calls.await(admin.describeTopic(topic), limit));
    }
    return topics;
  }

  private List<TopicDescription> awaitLeaders(Admin admin, long startNanos)
      throws InterruptedException {
    var watch = new LeaderWatch(0);
    describe(admin, plan.limit()).forEach(watch::expect);
    watch(admin, watch, startNanos);
    if (!watch.allLed()) {
      throw new CommandFailure(
          watch.waiting()
              + " of "
              + Words.count(plan.partitions(), "partition")
              + " have no leader after "
              + Words.millis((System.nanoTime() - startNanos) / 1_000_000));
    }
    return describe(admin, plan.limit());
  }

  /** Looks at the metadata until all are led or the time is over. */
  private void watch(Admin admin, LeaderWatch watch, long startNanos) throws InterruptedException {
    long deadlineNanos = System.nanoTime() + plan.limit().toNanos();
    while (!watch.allLed() && System.nanoTime() - deadlineNanos < 0) {
      requireGoingOn();
      Thread.sleep(POLL_MILLIS);
      try {
        for (TopicDescription topic : describe(admin, POLL_REQUEST_LIMIT)) {
          watch.seen(topic, System.nanoTime() - startNanos);
        }
      } catch (MillraceException e) {
        // Brokers may be busy electing; the next look comes soon.
        if (!e.retriable()) {
          throw e;
        }
      }
    }
  }

  // ----------------------------------------------------------------------------------------- idle

  private Map<Integer, BrokerSample.Usage> idle(Admin admin)
      throws IOException, InterruptedException {
    progress.step(
        "quiet for "
            + Words.millis(plan.settle().toMillis())
            + ", then measured for "
            + Words.millis(plan.idle().toMillis()));
    quiet(plan.settle());
    Map<Integer, BrokerSample> before = samples(admin);
    quiet(plan.idle());
    Map<Integer, BrokerSample> after = samples(admin);
    var usage = new TreeMap<Integer, BrokerSample.Usage>();
    after.forEach((broker, sample) -> usage.put(broker, sample.since(before.get(broker))));
    return usage;
  }

  private void quiet(Duration time) throws InterruptedException {
    Waits.until(time, () -> stopped);
    requireGoingOn();
  }

  private void requireGoingOn() {
    if (stopped) {
      throw new CommandFailure("stopped before the end; nothing is reported");
    }
  }

  private Map<Integer, BrokerSample> samples(Admin admin) throws IOException, InterruptedException {
    // The kernel first, all of them: making a status costs time of its own.
    var processes = new TreeMap<Integer, ProcessSample>();
    for (ClusterFile.Member member : cluster.file().brokers()) {
      long pid =
          cluster
              .pid(member.id())
              .orElseThrow(
                  () -> new CommandFailure("broker " + member.id() + " ended while it was idle"));
      processes.put(member.id(), ProcessSample.take(ProcessSample.PROC, pid));
    }
    var statuses = new TreeMap<Integer, CompletableFuture<BrokerStatusResponse>>();
    processes.keySet().forEach(broker -> statuses.put(broker, admin.brokerStatus(broker)));
    var samples = new TreeMap<Integer, BrokerSample>();
    for (var status : statuses.entrySet()) {
      int broker = status.getKey();
      samples.put(
          broker,
          BrokerSample.of(processes.get(broker), Calls.await(status.getValue(), plan.limit())));
    }
    return samples;
  }

  // ----------------------------------------------------------------------------------------- kill

  private PartitionsResult.Kill kill(
      MillraceClient control, Producer producer, List<TopicDescription> topics)
      throws IOException, InterruptedException {
    int victim = mostLeading(describe(control.admin(), plan.limit()));
    boolean metadataLeader =
        Calls.await(control.admin().describeCluster(), plan.limit()).metadataLeader() == victim;
    List<String> others =
        cluster.file().brokers().stream()
            .filter(member -> member.id() != victim)
            .map(ClusterFile.Member::address)
            .toList();
    var watch = new LeaderWatch(victim);
    int affected = describe(control.admin(), plan.limit()).stream().mapToInt(watch::expect).sum();
    AckEach.Result acked;
    long ackedAfter;
    long startNanos;
    try (MillraceClient survivors = connect(others, POLL_REQUEST_LIMIT)) {
      survivors.awaitConnected(POLL_REQUEST_LIMIT.toMillis());
      long killNanos = System.nanoTime();
      cluster.kill(victim);
      watch(survivors.admin(), watch, killNanos);
      progress.step(
          "broker "
              + victim
              + " killed; "
              + (affected - watch.waiting())
              + " of "
              + Words.count(affected, "partition")
              + " that it led have another leader");
      long sendNanos = System.nanoTime();
      acked = AckEach.send(producer, topics, plan.limit());
      ackedAfter = sendNanos - killNanos + acked.nanos();
    } finally {
      startNanos = System.nanoTime();
      cluster.bringBack(victim, START_LIMIT, progress);
    }
    ReplicaSync.await(cluster, plan.limit());
    return new PartitionsResult.Kill(
        victim,
        metadataLeader,
        affected,
        watch.timesNanos(),
        watch.waiting(),
        acked,
        ackedAfter,
        System.nanoTime() - startNanos);
  }

  /** The broker that leads most of the partitions. */
  private static int mostLeading(List<TopicDescription> topics) {
    var led = new TreeMap<Integer, Integer>();
    topics.forEach(
        topic ->
            topic.partitions().stream()
                .filter(partition -> partition.leader() != 0)
                .forEach(partition -> led.merge(partition.leader(), 1, Integer::sum)));
    return led.entrySet().stream()
        .max(Map.Entry.comparingByValue())
        .map(Map.Entry::getKey)
        .orElseThrow(() -> new CommandFailure("no partition has a leader"));
  }

  /** Deletes what was made. */
  void delete() throws InterruptedException {
    try (MillraceClient client = connect(cluster.file().addresses(), plan.limit())) {
      for (String topic : created) {
        try {
          Calls.await(client.admin().deleteTopic(topic), plan.limit());
        } catch (MillraceException e) {
          if (e.code() != ErrorCode.UNKNOWN_TOPIC) {
            throw e;
          }
        }
      }
    }
  }
}
