package io.millrace.tools.local;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.millrace.tools.CommandFailure;
import io.millrace.tools.Progress;
import io.millrace.tools.Terminal;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The files and refusals of a local cluster; no broker is started. */
@Timeout(60)
class LocalClusterTest {
  @TempDir private Path directory;
  private ClusterHome home;

  @BeforeEach
  void prepare() {
    home = new ClusterHome(directory.resolve("home"));
  }

  private static LocalCluster.Plan plan(Integer brokers, Integer basePort) {
    return new LocalCluster.Plan(brokers, basePort, null, null, List.of(), null);
  }

  private static int freePorts(int count) throws IOException {
    for (int port = 23_000; port < 60_000; port += count) {
      boolean free = true;
      for (int i = 0; i < count && free; i++) {
        try (var socket = new ServerSocket(port + i, 1, InetAddress.getLoopbackAddress())) {
          free = socket.isBound();
        } catch (IOException taken) {
          free = false;
        }
      }
      if (free) {
        return port;
      }
    }
    throw new IOException("no free ports");
  }

  private LocalCluster create(int brokers) throws IOException {
    return LocalCluster.openOrCreate(home, plan(brokers, freePorts(brokers)));
  }

  @Test
  void theFileKeepsWhatWasDecided() throws IOException {
    int port = freePorts(3);
    LocalCluster created =
        LocalCluster.openOrCreate(
            home, new LocalCluster.Plan(3, port, null, "300m", List.of("-Da=b"), null));

    LocalCluster opened = LocalCluster.open(home);

    assertThat(opened.file()).isEqualTo(created.file());
    assertThat(opened.file().addresses())
        .containsExactly("127.0.0.1:" + port, "127.0.0.1:" + (port + 1), "127.0.0.1:" + (port + 2));
    assertThat(opened.file().heap()).isEqualTo("300m");
    assertThat(opened.file().javaOptions()).containsExactly("-Da=b");
    assertThat(opened.file().bootstrapEntries().get(2)).isEqualTo("3@127.0.0.1:" + (port + 2));
  }

  @Test
  void anotherShapeOfAnExistingClusterIsRefused() throws IOException {
    create(3);

    assertThatThrownBy(() -> LocalCluster.openOrCreate(home, plan(1, null)))
        .isInstanceOf(CommandFailure.class)
        .hasMessageContaining("holds a cluster of 3 brokers, not 1");
    assertThatThrownBy(() -> LocalCluster.openOrCreate(home, plan(null, 1_234)))
        .isInstanceOf(CommandFailure.class)
        .hasMessageContaining("not 1234; leave --base-port out");
    assertThat(LocalCluster.openOrCreate(home, LocalCluster.Plan.unstated()).file().brokers())
        .hasSize(3);
  }

  @Test
  void heapMayChangeAndStays() throws IOException {
    create(3);

    LocalCluster.openOrCreate(home, new LocalCluster.Plan(null, null, null, "1g", List.of(), null));

    assertThat(LocalCluster.open(home).file().heap()).isEqualTo("1g");
    assertThat(LocalCluster.open(home).file().brokers()).hasSize(3);
  }

  @Test
  void permissionForFaultsStaysUntilTakenBack() throws IOException {
    assertThat(create(3).file().allowFaults()).isFalse();

    LocalCluster.openOrCreate(home, new LocalCluster.Plan(null, null, null, null, List.of(), true));
    assertThat(LocalCluster.openOrCreate(home, LocalCluster.Plan.unstated()).file().allowFaults())
        .isTrue();
    assertThat(LocalCluster.open(home).file().allowFaults()).isTrue();

    LocalCluster.openOrCreate(
        home, new LocalCluster.Plan(null, null, null, null, List.of(), false));
    assertThat(LocalCluster.open(home).file().allowFaults()).isFalse();
  }

  @Test
  void aFileWithoutPermissionForFaultsGivesNone() throws IOException {
    create(3);
    String text = Files.readString(home.clusterFile());
    Files.writeString(home.clusterFile(), text.replaceFirst(",\\s*\"allowFaults\": false", ""));

    assertThat(Files.readString(home.clusterFile())).doesNotContain("allowFaults");
    assertThat(LocalCluster.open(home).file().allowFaults()).isFalse();
  }

  @Test
  void aPortInUseIsNamedWithTheOptionAndNothingIsMade() throws IOException {
    try (var taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      int port = taken.getLocalPort();

      assertThatThrownBy(() -> LocalCluster.openOrCreate(home, plan(1, port)))
          .isInstanceOf(CommandFailure.class)
          .hasMessageContaining("port " + port + " of broker 1")
          .hasMessageContaining("--base-port");
    }
    assertThat(home.directory()).doesNotExist();
  }

  @Test
  void aPortInUseOfAnExistingClusterCanNotBeExchanged() throws IOException {
    LocalCluster cluster = create(1);
    int port = cluster.file().brokers().get(0).port();

    try (var taken = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
      assertThat(taken.isBound()).isTrue();
      assertThatThrownBy(() -> cluster.start(1, Duration.ofSeconds(5), quiet()))
          .isInstanceOf(CommandFailure.class)
          .hasMessageContaining("port " + port + " of broker 1")
          .hasMessageContaining("end the program that has it, then start again")
          .hasMessageNotContaining("--base-port");
    }
    assertThat(home.pidFile(1)).doesNotExist();
  }

  private static Progress quiet() {
    return new Progress(
        new Terminal(InputStream.nullInputStream(), System.out, System.err, false, Map.of()), true);
  }

  @Test
  void portsBeyondTheLastAreRefused() {
    assertThatThrownBy(() -> LocalCluster.openOrCreate(home, plan(3, 65_534)))
        .isInstanceOf(CommandFailure.class)
        .hasMessageContaining("--base-port 65534 with 3 brokers leaves the ports from 1 to 65535");
  }

  @Test
  void theSecretIsMadeOnceAlsoForAClusterThatHadNone() throws IOException {
    LocalCluster cluster = create(3);
    assertThat(home.secretFile()).doesNotExist();

    cluster.requireSecret();
    String text = Files.readString(home.secretFile());
    cluster.requireSecret();

    assertThat(home.secretFile()).hasContent(text.strip());
    assertThat(Files.getPosixFilePermissions(home.secretFile()))
        .containsExactlyInAnyOrder(PosixFilePermission.OWNER_READ, PosixFilePermission.OWNER_WRITE);
  }

  @Test
  void aSecretIsNotReplacedUnderRunningBrokers() throws IOException {
    LocalCluster cluster = create(3);
    Files.createDirectories(home.pidFile(2).getParent());
    new PidFile(home.pidFile(2))
        .write(ProcessIdentity.of(ProcessHandle.current().pid()).orElseThrow());

    assertThatThrownBy(cluster::requireSecret)
        .isInstanceOf(CommandFailure.class)
        .hasMessageContaining(home.secretFile() + " is missing while broker 2 runs; put it back");
    assertThat(home.secretFile()).doesNotExist();
  }

  @Test
  void anUnknownBrokerIsNamedWithThoseThatAre() throws IOException {
    LocalCluster cluster = create(3);

    assertThatThrownBy(() -> cluster.kill(7))
        .isInstanceOf(CommandFailure.class)
        .hasMessageContaining("there is no broker 7; this cluster has 1, 2, 3");
  }

  @Test
  void wipingABrokerWithReplicasIsRefusedAndTouchesNothing() throws IOException {
    LocalCluster cluster = create(3);
    Path votes = home.dataDirectory(2).resolve("raft/votes.a");
    Files.createDirectories(votes.getParent());
    Files.writeString(votes, "votes");

    assertThatThrownBy(() -> cluster.wipe(2))
        .isInstanceOf(CommandFailure.class)
        .hasMessageContaining("broker 2 holds replicas")
        .hasMessageContaining("is refused until a replica can be replaced");
    assertThat(votes).hasContent("votes");
  }

  @Test
  void aBrokerThatNeverHeldAReplicaCanBeWiped() throws IOException {
    LocalCluster cluster = create(3);
    Path identity = home.dataDirectory(2).resolve("broker.id");
    Files.createDirectories(identity.getParent());
    Files.writeString(identity, "identity");
    cluster.file().withFormatted(2).write(home.clusterFile());

    LocalCluster.open(home).wipe(2);

    assertThat(home.dataDirectory(2)).doesNotExist();
    assertThat(LocalCluster.open(home).file().member(2).formatted()).isFalse();
  }

  @Test
  void homeIsOptionThenVariableThenData() {
    Map<String, String> variable = Map.of("MILLRACE_HOME", "/var/lib/millrace");

    assertThat(ClusterHome.locate(Path.of("/x/../y"), variable)).isEqualTo(Path.of("/y"));
    assertThat(ClusterHome.locate(null, variable)).isEqualTo(Path.of("/var/lib/millrace"));
    assertThat(ClusterHome.locate(null, Map.of())).isEqualTo(Path.of("data").toAbsolutePath());
    assertThat(ClusterHome.locate(null, Map.of("MILLRACE_HOME", " ")))
        .isEqualTo(Path.of("data").toAbsolutePath());
  }

  @Test
  void aFileOfALaterVersionIsRefused() throws IOException {
    create(1);
    String text = Files.readString(home.clusterFile());
    Files.writeString(home.clusterFile(), text.replace("\"version\": 1", "\"version\": 2"));

    assertThatThrownBy(() -> LocalCluster.open(home))
        .isInstanceOf(CommandFailure.class)
        .hasMessageContaining("its version is 2, this command knows 1");
  }
}
