package io.millrace.tools.local;

import io.millrace.broker.DataDirectory;
import io.millrace.broker.log.DirectDisk;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;

/** Makes data directories of brokers; what is in them is the broker's own matter. */
final class BrokerFormat {
  private static final String IDENTITY = "broker.id";

  private BrokerFormat() {}

  static boolean isFormatted(Path data) {
    return Files.exists(data.resolve(IDENTITY));
  }

  /**
   * @param voters the brokers that found the cluster, the same for all of them
   */
  static void format(Path data, String clusterId, int brokerId, List<Integer> voters) {
    DataDirectory.format(new DirectDisk(), data, clusterId, brokerId, voters);
  }

  /**
   * The ids of a {@code cluster.brokers} value.
   *
   * @throws IllegalArgumentException that names the entry which is not id@host:port
   */
  static List<Integer> ids(String clusterBrokers) {
    return Arrays.stream(clusterBrokers.split(","))
        .map(String::strip)
        .map(BrokerFormat::id)
        .toList();
  }

  private static int id(String entry) {
    if (!entry.matches("[1-9]\\d{0,8}@.+:\\d{1,5}")) {
      throw new IllegalArgumentException("'" + entry + "' is not id@host:port");
    }
    return Integer.parseInt(entry.substring(0, entry.indexOf('@')));
  }
}
