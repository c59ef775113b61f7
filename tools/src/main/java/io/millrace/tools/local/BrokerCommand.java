package io.millrace.tools.local;

import io.millrace.broker.BrokerMain;
import io.millrace.broker.ClusterSecretFile;
import io.millrace.tools.CommandFailure;
import io.millrace.tools.ExitCodes;
import io.millrace.tools.MillraceCommand;
import io.millrace.tools.UsageFailure;
import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Properties;
import java.util.UUID;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code millrace broker ...}: one broker, on a machine of its own. */
@Command(
    name = "broker",
    description = "Run one broker of a cluster on several machines.",
    subcommands = {BrokerCommand.Start.class, BrokerCommand.Format.class})
public final class BrokerCommand implements Runnable {
  @Spec private CommandSpec spec;

  @Override
  public void run() {
    throw new ParameterException(spec.commandLine(), "a command is missing after 'broker'");
  }

  @Command(
      name = "start",
      description = {
        "Run a broker in the foreground until SIGTERM or Ctrl-C.",
        "Its data directory must have been made once by: millrace broker format"
      })
  static final class Start implements Callable<Integer> {
    @Option(
        names = "--config",
        required = true,
        paramLabel = "FILE",
        description = "Properties: broker.id, listen, data.dir, cluster.brokers, ...")
    private Path config;

    @Override
    public Integer call() throws Exception {
      if (!Files.isRegularFile(config)) {
        throw new CommandFailure("--config " + config + ": there is no such file");
      }
      BrokerMain.main(new String[] {"--config", config.toString()});
      return ExitCodes.OK;
    }
  }

  @Command(
      name = "format",
      description = {
        "Make the data directory of a broker, once, before its first start.",
        "All brokers of a cluster are formatted with the same --cluster-id and the same brokers.",
        "Makes cluster.secret.file too, unless it is there: copy it from the first broker to the"
            + " others before they are formatted."
      })
  static final class Format implements Callable<Integer> {
    private final MillraceCommand root;

    @Option(
        names = "--config",
        required = true,
        paramLabel = "FILE",
        description = "The configuration that the broker will be started with")
    private Path config;

    @Option(
        names = "--cluster-id",
        paramLabel = "ID",
        description = "Name of the cluster, never to change. Default: a new one, printed")
    private String clusterId;

    Format(MillraceCommand root) {
      this.root = root;
    }

    @Override
    public Integer call() throws IOException {
      var properties = new Properties();
      try (Reader reader = Files.newBufferedReader(config)) {
        properties.load(reader);
      }
      int brokerId = brokerId(required(properties, "broker.id"));
      Path data = Path.of(required(properties, "data.dir"));
      List<Integer> voters = voters(required(properties, "cluster.brokers"), brokerId);
      String id = clusterId == null ? UUID.randomUUID().toString() : clusterId;
      if (id.isBlank()) {
        throw new UsageFailure("--cluster-id is empty; give the cluster a name");
      }
      if (BrokerFormat.isFormatted(data)) {
        throw new CommandFailure(
            data + " is formatted already; start the broker, or choose another data.dir");
      }
      Path secret = secretFile(properties, voters);
      boolean newSecret = secret != null && ClusterSecretFile.makeIfMissing(secret);
      BrokerFormat.format(data, id, brokerId, voters);
      var fields = new LinkedHashMap<String, Object>();
      fields.put("clusterId", id);
      fields.put("brokerId", brokerId);
      fields.put("dataDirectory", data.toAbsolutePath().toString());
      if (secret != null) {
        fields.put("secretFile", secret.toAbsolutePath().toString());
        fields.put("secretIs", newSecret ? "new" : "the one that was there");
      }
      root.output().fields(fields);
      if (newSecret && voters.size() > 1) {
        root.progress()
            .step("copy " + secret + " to the other brokers, mode 600, before they are formatted");
      }
      return ExitCodes.OK;
    }

    /** Null when the broker is its whole cluster and no file is configured. */
    private Path secretFile(Properties properties, List<Integer> voters) {
      String value = properties.getProperty("cluster.secret.file");
      if (value != null && !value.isBlank()) {
        return Path.of(value.strip());
      }
      if (voters.size() > 1) {
        throw new CommandFailure(
            config
                + ": cluster.secret.file is missing; add a line cluster.secret.file=FILE for the"
                + " secret that all brokers share");
      }
      return null;
    }

    private List<Integer> voters(String clusterBrokers, int brokerId) {
      List<Integer> voters;
      try {
        voters = BrokerFormat.ids(clusterBrokers);
      } catch (IllegalArgumentException e) {
        throw new CommandFailure(config + ": cluster.brokers: " + e.getMessage(), e);
      }
      if (!voters.contains(brokerId)) {
        throw new CommandFailure(
            config
                + ": broker.id="
                + brokerId
                + " is not among cluster.brokers="
                + clusterBrokers
                + "; add it as "
                + brokerId
                + "@host:port");
      }
      return voters;
    }

    private int brokerId(String value) {
      if (!value.matches("\\d{1,9}") || Integer.parseInt(value) == 0) {
        throw new CommandFailure(
            config + ": broker.id=" + value + " is not a whole number from 1 on");
      }
      return Integer.parseInt(value);
    }

    private String required(Properties properties, String name) {
      String value = properties.getProperty(name);
      if (value == null || value.isBlank()) {
        throw new CommandFailure(config + ": " + name + " is missing; add a line " + name + "=...");
      }
      return value.strip();
    }
  }
}
