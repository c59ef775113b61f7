package io.millrace.tools.local;

import io.millrace.tools.CommandFailure;
import io.millrace.tools.ConnectOptions;
import io.millrace.tools.ExitCodes;
import io.millrace.tools.MillraceCommand;
import io.millrace.tools.Output;
import io.millrace.tools.Quantities;
import io.millrace.tools.UsageFailure;
import io.millrace.tools.Words;
import java.io.IOException;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code millrace cluster ...}: brokers on this machine, each a process of its own. */
@Command(
    name = "cluster",
    description = "Run brokers on this machine, each as a process of its own.",
    subcommands = {
      ClusterCommand.Up.class,
      ClusterCommand.Down.class,
      ClusterCommand.Status.class,
      ClusterCommand.Kill.class,
      ClusterCommand.Start.class,
      ClusterCommand.Pause.class,
      ClusterCommand.Resume.class,
      ClusterCommand.Wipe.class,
      FaultCommands.Isolate.class,
      FaultCommands.Split.class,
      FaultCommands.OneWay.class,
      FaultCommands.Slow.class,
      FaultCommands.Heal.class
    })
public final class ClusterCommand implements Runnable {
  private static final String START_LIMIT = "60s";
  private static final String STOP_LIMIT = "30s";

  @Spec private CommandSpec spec;

  @Override
  public void run() {
    throw new ParameterException(spec.commandLine(), "a command is missing after 'cluster'");
  }

  /** The home is that of the root's options, read when the command runs. */
  abstract static class Local implements Callable<Integer> {
    final MillraceCommand root;

    Local(MillraceCommand root) {
      this.root = root;
    }

    LocalCluster cluster() {
      return LocalCluster.open(root.home());
    }

    void say(String sentence) {
      root.progress().step(sentence);
    }
  }

  /** A command about one broker. */
  abstract static class OneBroker extends Local {
    @Parameters(paramLabel = "N", description = "Number of the broker, as in cluster status")
    int broker;

    OneBroker(MillraceCommand root) {
      super(root);
    }
  }

  @Command(
      name = "up",
      description = {
        "Start the cluster of --home, or make one there, and wait until it serves.",
        "Brokers that run already are left alone."
      })
  static final class Up extends Local {
    @Option(names = "--brokers", paramLabel = "N", description = "1, 3 or 5. Default: 3")
    private Integer brokers;

    @Option(
        names = "--base-port",
        paramLabel = "PORT",
        description = "Port of broker 1; the others take the ports after it. Default: 19801")
    private Integer basePort;

    @Option(
        names = "--host",
        paramLabel = "ADDRESS",
        description = "Address that the brokers listen on. Default: 127.0.0.1")
    private String host;

    @Option(
        names = "--heap",
        paramLabel = "SIZE",
        description = "Heap of each broker, as Java's -Xmx. Default: 512m")
    private String heap;

    @Option(
        names = "--java-option",
        paramLabel = "OPTION",
        description = "Further option of the brokers' Java; may be repeated")
    private List<String> javaOptions = List.of();

    @Option(
        names = "--timeout",
        paramLabel = "TIME",
        defaultValue = START_LIMIT,
        converter = Quantities.DurationConverter.class,
        description = "How long the start may take. Default: ${DEFAULT-VALUE}")
    private Duration timeout;

    @Option(
        names = "--allow-faults",
        negatable = true,
        description =
            "Let the brokers take isolate, split, one-way and slow; for tests and learning. Kept"
                + " for later starts until --no-allow-faults; counts for a broker from its next"
                + " start on. Default: no")
    private Boolean allowFaults;

    Up(MillraceCommand root) {
      super(root);
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
      if (brokers != null && brokers != 1 && brokers != 3 && brokers != 5) {
        throw new UsageFailure("--brokers " + brokers + ": a cluster has 1, 3 or 5 brokers");
      }
      LocalCluster.requireHeapSize(heap);
      boolean before = root.home().hasCluster() && cluster().file().allowFaults();
      LocalCluster cluster =
          LocalCluster.openOrCreate(
              root.home(),
              new LocalCluster.Plan(brokers, basePort, host, heap, javaOptions, allowFaults));
      List<Integer> unchanged =
          cluster.file().allowFaults() == before ? List.of() : cluster.present();
      cluster.up(timeout, root.progress());
      if (!unchanged.isEmpty()) {
        say(
            "faults are "
                + (before ? "still allowed" : "not allowed yet")
                + " on "
                + Words.brokers(unchanged)
                + ", which ran already; restart with: millrace cluster down, then millrace cluster"
                + " up");
      }
      var fields = new LinkedHashMap<String, Object>();
      fields.put("clusterId", cluster.file().clusterId());
      fields.put("brokers", cluster.file().brokers().size());
      fields.put("bootstrap", String.join(",", cluster.file().addresses()));
      fields.put("home", cluster.home().directory().toString());
      root.output().fields(fields);
      return ExitCodes.OK;
    }
  }

  @Command(
      name = "down",
      description = "Stop all brokers cleanly: they hand over what they lead, then end.")
  static final class Down extends Local {
    @Option(
        names = "--timeout",
        paramLabel = "TIME",
        defaultValue = STOP_LIMIT,
        converter = Quantities.DurationConverter.class,
        description =
            "After this time a broker that still runs is killed; that loses nothing that was"
                + " acknowledged. Default: ${DEFAULT-VALUE}")
    private Duration timeout;

    Down(MillraceCommand root) {
      super(root);
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
      List<Integer> killed = cluster().down(timeout, root.progress());
      if (killed.isEmpty()) {
        say("the cluster is down");
        return ExitCodes.OK;
      }
      throw new CommandFailure(
          "the cluster is down, but "
              + Words.brokers(killed)
              + " did not stop in "
              + Words.millis(timeout.toMillis())
              + " and had to be killed");
    }
  }

  @Command(name = "kill", description = "End a broker at once (SIGKILL), as a crash would.")
  static final class Kill extends OneBroker {
    Kill(MillraceCommand root) {
      super(root);
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
      cluster().kill(broker);
      say("broker " + broker + " killed; start it again with: millrace cluster start " + broker);
      return ExitCodes.OK;
    }
  }

  @Command(name = "start", description = "Start a broker that does not run, and wait for it.")
  static final class Start extends OneBroker {
    @Option(
        names = "--timeout",
        paramLabel = "TIME",
        defaultValue = START_LIMIT,
        converter = Quantities.DurationConverter.class,
        description = "How long the start may take. Default: ${DEFAULT-VALUE}")
    private Duration timeout;

    Start(MillraceCommand root) {
      super(root);
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
      cluster().start(broker, timeout, root.progress());
      return ExitCodes.OK;
    }
  }

  @Command(name = "pause", description = "Freeze a broker (SIGSTOP), as a long pause would.")
  static final class Pause extends OneBroker {
    Pause(MillraceCommand root) {
      super(root);
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
      cluster().pause(broker);
      say("broker " + broker + " paused; let it go on with: millrace cluster resume " + broker);
      return ExitCodes.OK;
    }
  }

  @Command(name = "resume", description = "Let a paused broker go on (SIGCONT).")
  static final class Resume extends OneBroker {
    Resume(MillraceCommand root) {
      super(root);
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
      cluster().resume(broker);
      say("broker " + broker + " goes on");
      return ExitCodes.OK;
    }
  }

  @Command(
      name = "wipe",
      description = "Empty the directory of a stopped broker. Refused while it holds replicas.")
  static final class Wipe extends OneBroker {
    Wipe(MillraceCommand root) {
      super(root);
    }

    @Override
    public Integer call() throws IOException {
      cluster().wipe(broker);
      say("broker " + broker + " is empty; it is made anew by: millrace cluster start " + broker);
      return ExitCodes.OK;
    }
  }

  @Command(
      name = "status",
      description = {
        "Show brokers, partitions and commanded network faults, as the brokers report them.",
        "LAG: how many records of its leader each replica has not got, of the metadata group how"
            + " many entries, in the order of REPLICAS; '-': its broker does not answer. A lag alone"
            + " is no fault, under load every replica is a little behind.",
        "Exit code 1 when a broker does not answer or other brokers do not reach it, or when a"
            + " partition is not ok."
      })
  static final class Status extends Local {
    private static final Duration ANSWER_LIMIT = Duration.ofSeconds(5);
    private static final long SECOND_LOOK_MILLIS = 500;

    /** More partitions than this are not looked at one by one. */
    private static final int MOST_ROWS = 40;

    @Option(
        names = "--all",
        description = "A line for each partition, however many; as with --output json and plain")
    private boolean all;

    Status(MillraceCommand root) {
      super(root);
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
      LocalCluster cluster = cluster();
      ClusterView view;
      var survey = new ClusterSurvey(cluster);
      if (survey.anyRunning()) {
        try (var client = ConnectOptions.connect(survey.runningAddresses(), ANSWER_LIMIT)) {
          view = survey.ask(client.admin(), ANSWER_LIMIT);
          if (view.allAnswered() && !view.healthy()) {
            // The answers are not of one moment: a change of leader in between looks like a fault.
            Thread.sleep(SECOND_LOOK_MILLIS);
            view = survey.ask(client.admin(), ANSWER_LIMIT);
          }
        }
      } else {
        view = survey.withoutAnswers();
      }
      boolean forPeople = root.output().form() == Output.Form.table;
      var fields = new LinkedHashMap<String, Object>();
      fields.put("brokers", view.brokerRows(forPeople));
      boolean summary = forPeople && !all && view.partitionCount() > MOST_ROWS;
      if (summary) {
        fields.put("topics", view.topicRows());
        fields.put("partitions", view.unhealthyRows(MOST_ROWS));
      } else {
        fields.put("partitions", view.partitionRows());
      }
      fields.put("networkFaults", view.faultRows());
      root.output().fields(fields);
      if (summary) {
        root.output().say(hint(view));
      }
      return view.healthy() ? ExitCodes.OK : ExitCodes.FAILED;
    }

    private static String hint(ClusterView view) {
      int unhealthy = view.unhealthyCount();
      String shown =
          unhealthy == 0
              ? "All are ok"
              : unhealthy <= MOST_ROWS
                  ? "Those that are not ok are shown"
                  : "The first " + MOST_ROWS + " of " + unhealthy + " that are not ok are shown";
      return "\n"
          + Words.count(view.partitionCount(), "partition")
          + ". "
          + shown
          + "; each of them: --all, or --output json";
    }
  }
}
