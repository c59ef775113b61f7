package io.millrace.tools.local;

import io.millrace.tools.ExitCodes;
import io.millrace.tools.MillraceCommand;
import io.millrace.tools.Quantities;
import io.millrace.tools.UsageFailure;
import io.millrace.tools.Words;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code millrace cluster isolate, split, one-way, slow, heal}: faults between brokers. */
final class FaultCommands {
  private static final String WHAT_IT_IS =
      "The brokers themselves drop, delay and lose what they say to each other; connections stay"
          + " open. Clients are not affected and still reach every broker.";
  private static final String HOW_LONG =
      "Needs a cluster started with --allow-faults. Adds to faults in force; all last until"
          + " cluster heal, or until the broker that makes them restarts: see cluster status.";
  private static final String END_IT = "; end it with: millrace cluster heal";

  private FaultCommands() {}

  private abstract static class Fault extends ClusterCommand.Local {
    Fault(MillraceCommand root) {
      super(root);
    }

    List<Integer> ids() {
      return cluster().file().ids();
    }

    Integer add(FaultPlan plan, String done) throws IOException, InterruptedException {
      new ClusterFaults(cluster()).add(plan);
      say(done + END_IT);
      return ExitCodes.OK;
    }
  }

  @Command(
      name = "isolate",
      description = {"Let nothing pass between a broker and all others.", WHAT_IT_IS, HOW_LONG})
  static final class Isolate extends Fault {
    @Parameters(paramLabel = "N", description = "Number of the broker, as in cluster status")
    private int broker;

    Isolate(MillraceCommand root) {
      super(root);
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
      return add(
          FaultPlan.isolate(ids(), broker),
          "broker " + broker + " is cut off from the others; clients still reach it");
    }
  }

  @Command(
      name = "split",
      description = {"Let nothing pass between two groups of brokers.", WHAT_IT_IS, HOW_LONG})
  static final class Split extends Fault {
    @Parameters(
        paramLabel = "SIDE/SIDE",
        description = "Every broker of the cluster on one side, as in 1/2,3")
    private String sides;

    Split(MillraceCommand root) {
      super(root);
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
      return add(FaultPlan.split(ids(), sides), "the network is split into " + sides);
    }
  }

  @Command(
      name = "one-way",
      description = {
        "Drop what one broker sends to another; the other way round it still goes.",
        WHAT_IT_IS,
        HOW_LONG
      })
  static final class OneWay extends Fault {
    @Parameters(
        paramLabel = "FROM>TO",
        arity = "0..1",
        description = "As in '1>2', quoted, for a shell takes > for itself; or as 1:2")
    private String way;

    OneWay(MillraceCommand root) {
      super(root);
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
      return add(
          FaultPlan.oneWay(ids(), way),
          "nothing passes " + way.strip().replace(':', '>') + "; the other way it still goes");
    }
  }

  @Command(
      name = "slow",
      description = {
        "Make what passes between a broker and all others late, or lost now and then.",
        "Each message is late in each direction; one that is lost was a request or an answer, so"
            + " the sender waits for its time limit.",
        WHAT_IT_IS,
        HOW_LONG
      })
  static final class Slow extends Fault {
    @Parameters(paramLabel = "N", description = "Number of the broker, as in cluster status")
    private int broker;

    @Option(
        names = "--latency",
        paramLabel = "TIME",
        converter = Quantities.DurationConverter.class,
        description = "Every message is late by this, up to 10s. Default: 0")
    private Duration latency;

    @Option(
        names = "--jitter",
        paramLabel = "TIME",
        converter = Quantities.DurationConverter.class,
        description = "... and by up to so much more, at random; the order stays. Default: 0")
    private Duration jitter;

    @Option(
        names = "--loss",
        paramLabel = "PERCENT",
        description = "So many of the messages are lost, as in 1%%. Default: 0%%")
    private String loss;

    Slow(MillraceCommand root) {
      super(root);
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
      if (latency == null && jitter == null && loss == null) {
        throw new UsageFailure("slow needs --latency, --jitter or --loss, as in --latency 50ms");
      }
      double percent = loss == null ? 0 : FaultPlan.percent(loss);
      FaultPlan plan = FaultPlan.slow(ids(), broker, millis(latency), millis(jitter), percent);
      return add(
          plan,
          "between broker "
              + broker
              + " and the others: "
              + Words.millis(millis(latency))
              + " late, up to "
              + Words.millis(millis(jitter))
              + " more, "
              + percent
              + " % lost");
    }

    private static long millis(Duration duration) {
      return duration == null ? 0 : duration.toMillis();
    }
  }

  @Command(name = "heal", description = "End all faults in the network between the brokers.")
  static final class Heal extends ClusterCommand.Local {
    Heal(MillraceCommand root) {
      super(root);
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
      say("no faults any more on " + Words.brokers(new ClusterFaults(cluster()).heal()));
      return ExitCodes.OK;
    }
  }
}
