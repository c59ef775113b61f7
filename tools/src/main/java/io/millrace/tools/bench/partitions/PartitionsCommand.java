package io.millrace.tools.bench.partitions;

import io.millrace.tools.CommandFailure;
import io.millrace.tools.ExitCodes;
import io.millrace.tools.Interrupts;
import io.millrace.tools.MillraceCommand;
import io.millrace.tools.Quantities;
import io.millrace.tools.UsageFailure;
import io.millrace.tools.Words;
import io.millrace.tools.local.LocalCluster;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code millrace bench partitions}: what many partitions cost. */
@Command(
    name = "partitions",
    description = {
      "Make many partitions of three replicas, and measure their creation, what the brokers use while"
          + " they are idle, and with --kill how long the death of a broker is felt.",
      "Works on the cluster of --home, which must be whole and without other traffic. Linux only:"
          + " what a broker uses is read from /proc."
    })
public final class PartitionsCommand implements Callable<Integer> {
  private static final int REPLICAS = 3;
  private static final int MOST_PARTITIONS = 10_000;
  private static final Duration SHORTEST = Duration.ofSeconds(1);

  /** A broker may have to be started, and topics deleted, before the command ends. */
  private static final long INTERRUPT_GRACE_MILLIS = 120_000;

  private final MillraceCommand root;

  @Option(
      names = "--partitions",
      paramLabel = "N",
      defaultValue = "300",
      description = {
        "How many; more than " + PartitionsBench.MOST_IN_ONE_TOPIC + " become several topics.",
        "Default: ${DEFAULT-VALUE}"
      })
  private int partitions;

  @Option(
      names = "--settle",
      paramLabel = "TIME",
      defaultValue = "20s",
      converter = Quantities.DurationConverter.class,
      description = "Quiet before the idle window. Default: ${DEFAULT-VALUE}")
  private Duration settle;

  @Option(
      names = "--idle",
      paramLabel = "TIME",
      defaultValue = "60s",
      converter = Quantities.DurationConverter.class,
      description = "Window in which the idle brokers are measured. Default: ${DEFAULT-VALUE}")
  private Duration idle;

  @Option(
      names = "--kill",
      description =
          "Kill the broker that leads most (SIGKILL), and start it again after the measuring")
  private boolean kill;

  @Option(
      names = "--limit",
      paramLabel = "TIME",
      defaultValue = "120s",
      converter = Quantities.DurationConverter.class,
      description =
          "How long leaders, acknowledgements and replicas in sync are waited for, each. Default:"
              + " ${DEFAULT-VALUE}")
  private Duration limit;

  @Option(names = "--keep", description = "Keep the topics")
  private boolean keep;

  PartitionsCommand(MillraceCommand root) {
    this.root = root;
  }

  @Override
  public Integer call() throws IOException, InterruptedException {
    requireSense();
    LocalCluster cluster = LocalCluster.open(root.home());
    if (!ProcessSample.isSupported()) {
      throw new CommandFailure(
          "bench partitions works on Linux only: what a broker uses is read from "
              + ProcessSample.PROC
              + ", which this machine ("
              + System.getProperty("os.name")
              + ") does not have");
    }
    int brokers = cluster.file().brokers().size();
    if (brokers < REPLICAS) {
      throw new CommandFailure(
          root.home().directory()
              + " holds a cluster of "
              + Words.count(brokers, "broker")
              + "; partitions of "
              + REPLICAS
              + " replicas need as many");
    }
    var bench =
        new PartitionsBench(
            cluster,
            new PartitionsBench.Plan(partitions, REPLICAS, settle, idle, kill, limit),
            root.progress());
    try (var interrupts = new Interrupts(bench::stop, INTERRUPT_GRACE_MILLIS)) {
      return interrupts.finished(measure(bench));
    }
  }

  private void requireSense() {
    if (partitions < 1 || partitions > MOST_PARTITIONS) {
      throw new UsageFailure("--partitions " + partitions + " is not in 1 to " + MOST_PARTITIONS);
    }
    Quantities.requireAtLeast("--idle", idle, SHORTEST);
    Quantities.requireAtLeast("--limit", limit, SHORTEST);
  }

  private int measure(PartitionsBench bench) throws IOException, InterruptedException {
    PartitionsResult result;
    try {
      result = bench.run();
    } catch (IOException | RuntimeException | InterruptedException e) {
      cleanUp(bench, e);
      throw e;
    }
    root.output().fields(PartitionsReport.fields(result));
    cleanUp(bench, null);
    if (!result.good()) {
      throw new CommandFailure(
          "not every partition got a leader and acknowledged a record in "
              + Words.millis(limit.toMillis())
              + "; see the errors above");
    }
    return ExitCodes.OK;
  }

  /**
   * @param failure gets what goes wrong here; null: it is thrown
   */
  private void cleanUp(PartitionsBench bench, Exception failure) throws InterruptedException {
    if (keep) {
      bench.topics().forEach(topic -> root.progress().step("topic " + topic + " is kept"));
      return;
    }
    try {
      bench.delete();
    } catch (RuntimeException e) {
      if (failure == null) {
        throw e;
      }
      failure.addSuppressed(e);
    }
  }
}
