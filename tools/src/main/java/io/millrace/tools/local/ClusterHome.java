package io.millrace.tools.local;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/**
 * Directory of one local cluster and the places in it.
 *
 * <pre>
 * HOME/
 *   cluster.json             cluster id, addresses and directories of the brokers
 *   cluster.secret           what the brokers prove to each other, mode 600
 *   broker-N/
 *     broker.properties      configuration that the broker is started with
 *     pid                    process id and start of the process
 *     data/                  the broker's data directory
 *     log/broker.log         what the broker printed
 *     log/broker.err         its error lines since the last start
 * </pre>
 */
public record ClusterHome(Path directory) {
  static final String VARIABLE = "MILLRACE_HOME";
  private static final String DEFAULT = "data";

  /** The option, else the environment, else {@code ./data}. */
  public static Path locate(Path option, Map<String, String> environment) {
    if (option != null) {
      return option.toAbsolutePath().normalize();
    }
    String variable = environment.get(VARIABLE);
    String chosen = variable == null || variable.isBlank() ? DEFAULT : variable;
    return Path.of(chosen).toAbsolutePath().normalize();
  }

  public Path clusterFile() {
    return directory.resolve("cluster.json");
  }

  public boolean hasCluster() {
    return Files.isRegularFile(clusterFile());
  }

  public Path secretFile() {
    return directory.resolve("cluster.secret");
  }

  Path brokerDirectory(int brokerId) {
    return directory.resolve("broker-" + brokerId);
  }

  Path dataDirectory(int brokerId) {
    return brokerDirectory(brokerId).resolve("data");
  }

  Path configFile(int brokerId) {
    return brokerDirectory(brokerId).resolve("broker.properties");
  }

  Path pidFile(int brokerId) {
    return brokerDirectory(brokerId).resolve("pid");
  }

  public Path logFile(int brokerId) {
    return brokerDirectory(brokerId).resolve("log").resolve("broker.log");
  }

  Path errorFile(int brokerId) {
    return brokerDirectory(brokerId).resolve("log").resolve("broker.err");
  }
}
