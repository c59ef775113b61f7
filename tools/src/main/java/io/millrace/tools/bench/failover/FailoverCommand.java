package io.millrace.tools.bench.failover;

import io.millrace.client.FsyncPolicy;
import io.millrace.client.MillraceClient;
import io.millrace.client.TopicDescription;
import io.millrace.client.TopicSpec;
import io.millrace.tools.Calls;
import io.millrace.tools.CommandFailure;
import io.millrace.tools.ConnectOptions;
import io.millrace.tools.ExitCodes;
import io.millrace.tools.Interrupts;
import io.millrace.tools.MillraceCommand;
import io.millrace.tools.Output;
import io.millrace.tools.Progress;
import io.millrace.tools.Quantities;
import io.millrace.tools.UsageFailure;
import io.millrace.tools.Words;
import io.millrace.tools.local.LocalCluster;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code millrace bench failover}: how long an outage of a leader is felt, and what it costs. */
@Command(
    name = "failover",
    description = {
      "Hurt the leader of a partition under traffic, several times, and measure the longest time"
          + " between two acknowledgements.",
      "Works on the cluster of --home, which must be whole, and starts the broker again after each"
          + " run. Each run reads the partition back: exit code 1 when an acknowledged record is"
          + " lost, doubled or out of order.",
      "With --fault pause the old leader must also acknowledge nothing in its old term once a new"
          + " one leads."
    })
public final class FailoverCommand implements Callable<Integer> {
  private static final int REPLICAS = 3;
  private static final Duration REQUEST_TIMEOUT = Duration.ofSeconds(30);
  private static final Duration SHORTEST = Duration.ofSeconds(1);

  /** A broker may have to be started before the command ends. */
  private static final long INTERRUPT_GRACE_MILLIS = 60_000;

  private final MillraceCommand root;

  @Option(
      names = "--runs",
      paramLabel = "N",
      defaultValue = "20",
      description = "How often. Default: ${DEFAULT-VALUE}")
  private int runs;

  @Option(
      names = "--fault",
      paramLabel = "FAULT",
      defaultValue = "kill",
      description = {
        "${COMPLETION-CANDIDATES}. kill: SIGKILL; restart: a clean stop, and a start at once;",
        "pause: SIGSTOP, after --pause-for SIGCONT. Default: ${DEFAULT-VALUE}"
      })
  private Fault fault;

  @Option(
      names = "--rate",
      paramLabel = "N",
      defaultValue = "1000",
      description =
          "Records per second, of 100 bytes, whatever the brokers do. Default: ${DEFAULT-VALUE}")
  private double rate;

  @Option(
      names = "--fsync",
      paramLabel = "POLICY",
      defaultValue = "always",
      description = "Of the topic: always, interval or os. Default: ${DEFAULT-VALUE}")
  private FsyncPolicy fsync;

  @Option(
      names = "--steady",
      paramLabel = "TIME",
      defaultValue = "10s",
      converter = Quantities.DurationConverter.class,
      description = "Unbroken traffic before the fault. Default: ${DEFAULT-VALUE}")
  private Duration steady;

  @Option(
      names = "--after",
      paramLabel = "TIME",
      defaultValue = "8s",
      converter = Quantities.DurationConverter.class,
      description = "Unbroken traffic after the fault. Default: ${DEFAULT-VALUE}")
  private Duration after;

  @Option(
      names = "--pause-for",
      paramLabel = "TIME",
      defaultValue = "10s",
      converter = Quantities.DurationConverter.class,
      description = "With --fault pause: how long. Default: ${DEFAULT-VALUE}")
  private Duration pauseFor;

  @Option(
      names = "--limit",
      paramLabel = "TIME",
      defaultValue = "90s",
      converter = Quantities.DurationConverter.class,
      description =
          "How long acknowledgements may stay away, and replicas out of sync, before the run counts"
              + " as failed. Default: ${DEFAULT-VALUE}")
  private Duration limit;

  @Option(names = "--keep", description = "Keep the topic. It is kept when something is wrong")
  private boolean keep;

  FailoverCommand(MillraceCommand root) {
    this.root = root;
  }

  @Override
  public Integer call() throws IOException, InterruptedException {
    requireSense();
    LocalCluster cluster = LocalCluster.open(root.home());
    int brokers = cluster.file().brokers().size();
    if (brokers < REPLICAS) {
      throw new CommandFailure(
          root.home().directory()
              + " holds a cluster of "
              + Words.count(brokers, "broker")
              + "; a failover needs "
              + REPLICAS);
    }
    try (MillraceClient control =
        ConnectOptions.connect(cluster.file().addresses(), REQUEST_TIMEOUT)) {
      TopicDescription topic =
          Calls.await(
              control
                  .admin()
                  .createTopic(
                      TopicSpec.of(
                              "bench-failover-" + UUID.randomUUID().toString().substring(0, 8),
                              1,
                              REPLICAS)
                          .withFsync(fsync)),
              REQUEST_TIMEOUT);
      var plan = new FailoverBench.Plan(fault, rate, steady, after, pauseFor, limit);
      var bench =
          new FailoverBench(
              cluster, control, topic, plan, root.progress(), new Progress(root.terminal(), true));
      try (var interrupts = new Interrupts(bench::stop, INTERRUPT_GRACE_MILLIS)) {
        return interrupts.finished(measure(bench, plan, control, topic));
      }
    }
  }

  private void requireSense() {
    if (runs < 1) {
      throw new UsageFailure("--runs " + runs + " is below 1");
    }
    if (!(rate > 0)) {
      throw new UsageFailure("--rate " + rate + " is not above 0");
    }
    Quantities.requireAtLeast("--steady", steady, SHORTEST);
    Quantities.requireAtLeast("--after", after, SHORTEST);
    Quantities.requireAtLeast("--pause-for", pauseFor, SHORTEST);
    Quantities.requireAtLeast("--limit", limit, SHORTEST);
  }

  private int measure(
      FailoverBench bench, FailoverBench.Plan plan, MillraceClient control, TopicDescription topic)
      throws IOException, InterruptedException {
    var done = new ArrayList<FailoverRun>();
    try {
      while (done.size() < runs && !bench.stopped()) {
        Optional<FailoverRun> run = bench.run(done.size() + 1);
        if (run.isPresent()) {
          done.add(run.get());
          root.progress().step(FailoverReport.line(run.get(), runs));
          run.get().examples().forEach(example -> root.progress().step("  " + example));
        }
      }
    } finally {
      // A run that can not be finished does not take the earlier ones with it.
      boolean forPeople = root.output().form() == Output.Form.table;
      root.output().fields(FailoverReport.fields(plan, Words.of(topic.fsync()), done, forPeople));
    }
    return verdict(done, control, topic);
  }

  private int verdict(List<FailoverRun> done, MillraceClient control, TopicDescription topic)
      throws InterruptedException {
    long wrong = done.stream().filter(run -> !run.violations().isEmpty()).count();
    long doubtful = done.stream().filter(run -> !run.good()).count() - wrong;
    if (wrong + doubtful == 0) {
      if (!keep) {
        Calls.await(control.admin().deleteTopic(topic.name()), REQUEST_TIMEOUT);
      }
      if (done.size() < runs) {
        throw new CommandFailure("stopped after " + done.size() + " of " + runs + " runs");
      }
      return ExitCodes.OK;
    }
    throw new CommandFailure(
        (wrong > 0
                ? Words.count(wrong, "run") + " broke a promise"
                : Words.count(doubtful, "run") + " could not be judged")
            + ", see the column of violations; the topic is kept: "
            + topic.name());
  }
}
