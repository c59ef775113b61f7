package io.millrace.tools.bench.failover;

import io.millrace.client.ClientConfig;
import io.millrace.client.MillraceClient;
import io.millrace.client.Producer;
import io.millrace.client.ProducerConfig;
import io.millrace.client.TopicDescription;
import io.millrace.client.TopicPartition;
import io.millrace.tools.Calls;
import io.millrace.tools.CommandFailure;
import io.millrace.tools.Progress;
import io.millrace.tools.Waits;
import io.millrace.tools.Words;
import io.millrace.tools.load.LoadRecords;
import io.millrace.tools.load.LoadVerifier;
import io.millrace.tools.local.LocalCluster;
import io.millrace.tools.local.ReplicaSync;
import java.io.IOException;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.function.BooleanSupplier;

/**
 * Hurts the leader of a partition of a local cluster under traffic, again and again, and measures
 * how long no record is acknowledged.
 *
 * <p>One run: all replicas in sync, a new client with default settings, traffic until it is steady,
 * the fault, traffic until it is steady again, every answer awaited, the broker brought back, the
 * partition read back and judged.
 *
 * <p>Owns: the state of the hurt broker: however a run ends, the broker is brought back.
 *
 * <p>Threads: {@link #run} on one; {@link #stop} from any.
 */
final class FailoverBench {
  /**
   * @param steady traffic before the fault
   * @param after unbroken traffic after it
   * @param pauseFor how long a paused broker stays so
   * @param limit how long acknowledgements may stay away, and how long all replicas may take to be
   *     in sync
   */
  record Plan(
      Fault fault,
      double rate,
      Duration steady,
      Duration after,
      Duration pauseFor,
      Duration limit) {}

  static final int VALUE_BYTES = 100;
  private static final int TRAFFIC_KEY = 0;
  private static final int PROBE_KEY = 1;

  /** Connections and first segments are not what is usual before a fault. */
  private static final Duration WARM_UP = Duration.ofSeconds(3);

  /** Enough for records whose delivery timeout, by default 120 s, began just now. */
  private static final Duration ANSWERS_LIMIT = Duration.ofSeconds(150);

  private static final Duration START_LIMIT = Duration.ofSeconds(60);
  private static final Duration STOP_LIMIT = Duration.ofSeconds(60);
  private static final Duration REQUEST_TIMEOUT = Duration.ofSeconds(30);

  private static final int PROBES_WHILE_PAUSED = 10;
  private static final int PROBES_AFTER = 200;
  private static final long PROBE_GAP_MILLIS = 10;
  private static final Duration PROBE_ANSWERS_LIMIT = Duration.ofSeconds(10);

  private final LocalCluster cluster;
  private final MillraceClient control;
  private final TopicDescription topic;
  private final Plan plan;
  private final Progress progress;
  private final Progress silent;
  private volatile boolean stopped;

  /**
   * @param control a client for questions; the traffic has clients of its own
   * @param topic of one partition, with nobody else's traffic
   * @param silent takes the steps of brokers that start and stop
   */
  FailoverBench(
      LocalCluster cluster,
      MillraceClient control,
      TopicDescription topic,
      Plan plan,
      Progress progress,
      Progress silent) {
    this.cluster = cluster;
    this.control = control;
    this.topic = topic;
    this.plan = plan;
    this.progress = progress;
    this.silent = silent;
  }

  /** Ends the run in hand early. */
  void stop() {
    stopped = true;
  }

  boolean stopped() {
    return stopped;
  }

  /**
   * One run.
   *
   * @return empty: it was stopped
   * @throws CommandFailure when the cluster is not fit to be measured, or does not become so again
   */
  Optional<FailoverRun> run(int number) throws IOException, InterruptedException {
    ReplicaSync.await(cluster, plan.limit());
    var verifier = new LoadVerifier(2);
    var records =
        new LoadRecords(UUID.randomUUID().toString().substring(0, 8), topic.name(), VALUE_BYTES);
    var readBack = new ReadBack(control, new TopicPartition(topic.name(), 0), plan.limit());
    long start = readBack.end();
    verifier.startsAt(0, start);
    try (MillraceClient client =
            MillraceClient.connect(new ClientConfig(cluster.file().addresses()));
        Producer producer = client.producer(new ProducerConfig());
        var traffic = new FailoverTraffic(producer, records, verifier, TRAFFIC_KEY, plan.rate())) {
      long startNanos = System.nanoTime();
      traffic.start();
      if (!traffic.awaitFlow(startNanos, plan.steady(), plan.limit(), this::stopped)) {
        if (stopped) {
          return Optional.empty();
        }
        throw new CommandFailure(
            "acknowledgements did not come steadily in "
                + Words.millis(plan.limit().toMillis())
                + " before the fault of run "
                + number
                + "; errors: "
                + traffic.outcomes().failures());
      }
      int victim = leader();
      if (victim == 0) {
        throw new CommandFailure(
            "no broker knows who leads " + topic.name() + " although it acknowledges records");
      }
      boolean metadataLeader =
          Calls.await(control.admin().describeCluster(), REQUEST_TIMEOUT).metadataLeader()
              == victim;
      Hurt hurt;
      int newLeader;
      long backNanos;
      try {
        hurt = hurt(victim, traffic, records, verifier);
        newLeader = leader();
        if (!traffic.stop(ANSWERS_LIMIT)) {
          progress.step("run " + number + ": not every record has an answer");
        }
      } finally {
        backNanos = System.nanoTime();
        cluster.bringBack(victim, START_LIMIT, silent);
      }
      ReplicaSync.await(cluster, plan.limit());
      long syncNanos = System.nanoTime() - backNanos;
      long read = readBack.judge(start, records, verifier);
      if (stopped) {
        return Optional.empty();
      }
      var run =
          new FailoverRun(
              number,
              victim,
              metadataLeader,
              newLeader,
              traffic.gaps(hurt.faultNanos(), WARM_UP),
              hurt.recovered(),
              traffic.acks().all().stream()
                  .mapToLong(ack -> ack.ackNanos() - ack.sentNanos())
                  .max()
                  .orElse(0),
              read,
              syncNanos,
              new FailoverRun.Traffic(
                  traffic.sent(),
                  traffic.outcomes().done(),
                  traffic.outcomes().notDone(),
                  traffic.outcomes().unknown()),
              verifier.counts(),
              traffic.outcomes().failures(),
              verifier.examples(),
              hurt.stale());
      return Optional.of(run);
    }
  }

  /** When the fault began, whether acknowledgements came again, and what the old leader said. */
  private record Hurt(long faultNanos, boolean recovered, StaleCheck.Result stale) {}

  private Hurt hurt(int victim, FailoverTraffic traffic, LoadRecords records, LoadVerifier verifier)
      throws IOException, InterruptedException {
    if (plan.fault() == Fault.pause) {
      return pause(victim, traffic, records, verifier);
    }
    long faultNanos = System.nanoTime();
    if (plan.fault() == Fault.kill) {
      cluster.kill(victim);
    } else {
      cluster.stop(victim, STOP_LIMIT);
      cluster.start(victim, START_LIMIT, silent);
    }
    return new Hurt(
        faultNanos, traffic.awaitFlow(faultNanos, plan.after(), plan.limit(), this::stopped), null);
  }

  private Hurt pause(
      int victim, FailoverTraffic traffic, LoadRecords records, LoadVerifier verifier)
      throws IOException, InterruptedException {
    long oldTerm = traffic.acks().newestTerm();
    var member = cluster.file().brokers().stream().filter(each -> each.id() == victim).findFirst();
    try (var probe =
        new StaleLeaderProbe(member.orElseThrow().host(), member.orElseThrow().port(), topic)) {
      var probes = new Probes(probe, records, verifier);
      BooleanSupplier newLeaderActs = () -> traffic.acks().newestTerm() > oldTerm;
      long faultNanos = System.nanoTime();
      cluster.pause(victim);
      boolean taken = Waits.until(plan.pauseFor(), () -> newLeaderActs.getAsBoolean() || stopped);
      if (taken && !stopped) {
        probes.send(PROBES_WHILE_PAUSED);
        Waits.until(left(faultNanos), () -> stopped);
      }
      cluster.resume(victim);
      long resumedNanos = System.nanoTime();
      if (taken) {
        for (int i = 0; i < PROBES_AFTER && !stopped && probe.ended() == null; i++) {
          probes.send(1);
          Thread.sleep(PROBE_GAP_MILLIS);
        }
      } else {
        progress.step(
            "no other broker led while broker "
                + victim
                + " was paused: nothing to ask the old leader; give more time with --pause-for");
      }
      boolean recovered =
          traffic.awaitFlow(resumedNanos, plan.after(), plan.limit(), this::stopped);
      Map<Long, StaleLeaderProbe.Answer> answers = probes.answers();
      return new Hurt(
          faultNanos,
          recovered,
          StaleCheck.judge(traffic.acks().all(), oldTerm, probes.sent, answers.values()));
    }
  }

  private Duration left(long faultNanos) {
    Duration left = plan.pauseFor().minusNanos(System.nanoTime() - faultNanos);
    return left.isNegative() ? Duration.ZERO : left;
  }

  /** Records to the old leader alone; the verifier knows them as those of a second key. */
  private static final class Probes {
    private final StaleLeaderProbe probe;
    private final LoadRecords records;
    private final LoadVerifier verifier;
    private int sent;

    Probes(StaleLeaderProbe probe, LoadRecords records, LoadVerifier verifier) {
      this.probe = probe;
      this.records = records;
      this.verifier = verifier;
    }

    void send(int count) {
      for (int i = 0; i < count; i++) {
        long number = verifier.send(PROBE_KEY);
        sent++;
        try {
          probe.send(number, records.record(PROBE_KEY, number));
        } catch (IOException e) {
          // The broker closed the connection: it may have taken the record or not. That is what
          // having no answer means to the verifier below, so there is nothing else to note.
          return;
        }
      }
    }

    /** Waits for the answers and tells the verifier; what has none is unknown. */
    Map<Long, StaleLeaderProbe.Answer> answers() throws InterruptedException {
      Waits.until(
          PROBE_ANSWERS_LIMIT, () -> probe.answers().size() == sent || probe.ended() != null);
      Map<Long, StaleLeaderProbe.Answer> answers = probe.answers();
      for (long number = 0; number < sent; number++) {
        StaleLeaderProbe.Answer answer = answers.get(number);
        if (answer == null) {
          verifier.unknown(PROBE_KEY, number);
        } else if (answer.acked()) {
          verifier.acked(PROBE_KEY, number, 0, answer.offset());
        } else {
          switch (answer.error().outcome()) {
            case NOT_DONE -> verifier.refused(PROBE_KEY, number);
            default -> verifier.unknown(PROBE_KEY, number);
          }
        }
      }
      return answers;
    }
  }

  /** 0 when none is known. */
  private int leader() throws InterruptedException {
    return Calls.await(control.admin().describeTopic(topic.name()), REQUEST_TIMEOUT)
        .partitions()
        .get(0)
        .leader();
  }
}
