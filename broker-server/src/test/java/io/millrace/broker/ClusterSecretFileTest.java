package io.millrace.broker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.millrace.broker.log.DirectDisk;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Properties;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The secret's file, and what a broker says that starts without it. */
@Timeout(60)
class ClusterSecretFileTest {

  @TempDir Path dir;

  @Test
  void isMadeOnceForItsOwnerOnly() throws IOException {
    Path file = dir.resolve("new/cluster.secret");
    assertThat(ClusterSecretFile.makeIfMissing(file)).isTrue();
    String text = Files.readString(file);
    assertThat(text).matches("[0-9a-f]{64}\\R");
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file)))
        .isEqualTo("rw-------");
    assertThat(ClusterSecretFile.makeIfMissing(file)).isFalse();
    assertThat(file).hasContent(text.strip());
    assertThat(ClusterSecretFile.read(file).print()).isEqualTo(text.strip());
    assertThat(file.getParent()).isDirectoryContaining(file::equals);
    try (var files = Files.list(file.getParent())) {
      assertThat(files).hasSize(1);
    }
  }

  @Test
  void aFileThatOthersMayReadIsRefused() throws IOException {
    Path file = dir.resolve("cluster.secret");
    ClusterSecretFile.makeIfMissing(file);
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-r-----"));
    assertThatThrownBy(() -> ClusterSecretFile.read(file))
        .isInstanceOf(ConfigException.class)
        .hasMessage(
            file + " has the mode rw-r-----, so others than its owner may use it; chmod 600 it");
    assertThatThrownBy(() -> ClusterSecretFile.makeIfMissing(file))
        .isInstanceOf(ConfigException.class);
  }

  @Test
  void aDamagedFileIsRefusedAndNotReplaced() throws IOException {
    Path file = dir.resolve("cluster.secret");
    Files.createFile(
        file, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
    Files.writeString(file, "0123");
    assertThatThrownBy(() -> ClusterSecretFile.makeIfMissing(file))
        .isInstanceOf(ConfigException.class)
        .hasMessageStartingWith(file + ": a cluster secret is one line of 64 hexadecimal digits")
        .hasMessageNotContaining("0123");
    assertThat(file).hasContent("0123");
  }

  private BrokerConfig config(String brokers, Path secretOrNull) {
    Properties properties = new Properties();
    properties.setProperty("broker.id", "1");
    properties.setProperty("listen", "127.0.0.1:0");
    properties.setProperty("data.dir", dir.resolve("data").toString());
    properties.setProperty("cluster.brokers", brokers);
    if (secretOrNull != null) {
      properties.setProperty("cluster.secret.file", secretOrNull.toString());
    }
    return BrokerConfig.of(properties, 256L << 20);
  }

  private void refused(BrokerConfig config, String message) {
    assertThatThrownBy(() -> Broker.start(config, new DirectDisk(), reason -> {}))
        .isInstanceOf(ConfigException.class)
        .hasMessage(message);
  }

  private static String missing(String others) {
    return "cluster.secret.file is missing, but the cluster has other brokers "
        + others
        + ". Set it to the file with the secret that all of them share; broker format makes one"
        + " on the first broker, copy it to the others";
  }

  @Test
  void aBrokerAmongOthersDoesNotStartWithoutASecret() {
    refused(config("3@127.0.0.1:1,2@127.0.0.1:2", null), missing("[2, 3]"));
    Path absent = dir.resolve("absent");
    refused(
        config("2@127.0.0.1:2", absent),
        absent
            + " does not exist; copy it from another broker of the cluster, or let broker format"
            + " make it for a new cluster");
  }

  /** Its configuration names nobody else, its directory does. */
  @Test
  void aBrokerThatFoundedAClusterWithOthersDoesNotStartWithoutASecret() {
    DataDirectory.format(new DirectDisk(), dir.resolve("data"), "shop", 1, List.of(1, 2, 3));
    refused(config("1@127.0.0.1:7171", null), missing("[2, 3]"));
  }
}
