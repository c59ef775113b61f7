package io.millrace.broker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.millrace.broker.BrokerConfig.Effective;
import io.millrace.broker.BrokerConfig.Origin;
import io.millrace.broker.raft.RaftSettings;
import io.millrace.broker.raft.transport.PeerTlsFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Properties;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class BrokerConfigTest {

  private static final long HEAP = 512L << 20;

  @TempDir Path dir;

  private static Properties valid() {
    Properties properties = new Properties();
    properties.setProperty("broker.id", "1");
    properties.setProperty("listen", "127.0.0.1:7171");
    properties.setProperty("data.dir", "/var/lib/millrace/b1");
    properties.setProperty(
        "cluster.brokers", "1@127.0.0.1:7171, 2@127.0.0.1:7172, 3@127.0.0.1:7173");
    return properties;
  }

  private static BrokerConfig with(String key, String value) {
    Properties properties = valid();
    properties.setProperty(key, value);
    return BrokerConfig.of(properties, HEAP);
  }

  @Test
  void readsAFileAndFillsInTheDefaults() throws IOException {
    Path file = dir.resolve("broker.properties");
    Files.writeString(
        file,
        """
        # a comment
        broker.id = 2
        cluster.id = shop
        listen = 0.0.0.0:7171
        advertised = broker2:7171
        data.dir = %s
        cluster.brokers = 1@broker1:7171,2@broker2:7171,3@broker3:7171
        cluster.secret.file = %s
        peer.tls.certificate = /tls/b2.pem
        peer.tls.key = /tls/b2.key
        peer.tls.trust = /tls/trust.pem
        max.frame.bytes = 32 MiB
        """
            .formatted(dir.resolve("data"), dir.resolve("secret")));
    BrokerConfig config = BrokerConfig.load(file);
    assertThat(config.brokerId()).isEqualTo(2);
    assertThat(config.clusterId()).isEqualTo("shop");
    assertThat(config.listen()).isEqualTo(new HostPort("0.0.0.0", 7171));
    assertThat(config.advertised()).isEqualTo(new HostPort("broker2", 7171));
    assertThat(config.dataDir()).isEqualTo(dir.resolve("data"));
    assertThat(config.clusterBrokers())
        .containsOnlyKeys(1, 2, 3)
        .containsEntry(3, new HostPort("broker3", 7171));
    assertThat(config.secretFile()).isEqualTo(dir.resolve("secret"));
    assertThat(config.peerTls())
        .isEqualTo(
            new PeerTlsFiles(
                Path.of("/tls/b2.pem"), Path.of("/tls/b2.key"), Path.of("/tls/trust.pem")));
    assertThat(config.network().maxFrameBytes()).isEqualTo(32 << 20);
    assertThat(config.raft())
        .isEqualTo(new RaftSettings(2_000, 64L << 20, 60_000, 100L << 20, 4L << 20, 21_600_000));
    assertThat(config.effective())
        .containsEntry(ConfigKey.MAX_FRAME_BYTES, new Effective("32 MiB", Origin.FILE))
        .containsEntry(ConfigKey.MAX_CONNECTIONS, new Effective("1000", Origin.DEFAULT))
        .containsOnlyKeys(ConfigKey.values());
    assertThat(config.describe())
        .contains("broker.id = 2 (file)", "raft.election.timeout.millis = 2000 (default)");
  }

  @Test
  void budgetsFollowTheHeapAndAlwaysHoldTwoFrames() {
    BrokerConfig small = BrokerConfig.of(valid(), 64L << 20);
    assertThat(small.network().inBytes()).isEqualTo(40L << 20);
    assertThat(small.network().outBytes()).isEqualTo(16L << 20);
    assertThat(small.appendInflightBytes()).isEqualTo(40L << 20);
    assertThat(small.fetchResponseBytes()).isEqualTo(64L << 20);
    BrokerConfig large = BrokerConfig.of(valid(), 4L << 30);
    assertThat(large.network().inBytes()).isEqualTo(512L << 20);
    assertThat(large.network().outBytes()).isEqualTo(512L << 20);
    assertThat(large.appendInflightBytes()).isEqualTo(512L << 20);
    assertThat(large.fetchResponseBytes()).isEqualTo(1L << 30);
  }

  @Test
  void faultsAreForbiddenUnlessAllowed() {
    assertThat(BrokerConfig.of(valid(), HEAP).faultsAllowed()).isFalse();
    assertThat(with("faults.allowed", "false").faultsAllowed()).isFalse();
    assertThat(with("faults.allowed", "true").faultsAllowed()).isTrue();
    assertThatThrownBy(() -> with("faults.allowed", "yes"))
        .isInstanceOf(ConfigException.class)
        .hasMessage("faults.allowed = yes is not true or false");
  }

  @Test
  void advertisedDefaultsToListen() {
    BrokerConfig config = BrokerConfig.of(valid(), HEAP);
    assertThat(config.advertised()).isEqualTo(config.listen());
    assertThat(config.clusterId()).isEmpty();
    assertThat(config.secretFile()).isNull();
    assertThat(config.peerTls()).isNull();
  }

  @Test
  void portZeroIsForTestsWithoutAFixedAddress() {
    Properties properties = valid();
    properties.setProperty("listen", "127.0.0.1:0");
    properties.setProperty("cluster.brokers", "2@127.0.0.1:7172");
    assertThat(BrokerConfig.of(properties, HEAP).advertised().port()).isZero();
  }

  @Test
  void aTypoNamesTheKeyThatWasMeant() {
    assertThatThrownBy(() -> with("max.conections", "10"))
        .isInstanceOf(ConfigException.class)
        .hasMessage(
            "unknown key \"max.conections\" (value \"10\"); did you mean \"max.connections\"?");
    assertThatThrownBy(() -> with("raft.election.timeout.ms", "10"))
        .hasMessageContaining("did you mean \"raft.election.timeout.millis\"?");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "broker.id | 0 | broker.id = 0 is below the least value 1",
        "broker.id | 65536 | broker.id = 65536 is above the limit 65535",
        "broker.id | one | broker.id = one is not a whole number in -2147483648..2147483647",
        "listen | 7171 | listen: \"7171\" is not an address; write host:port, for example"
            + " 127.0.0.1:7171",
        "listen | a:b | listen: \"a:b\" has the port \"b\"; a port is a number in 0..65535",
        "listen | a:70000 | listen: port 70000 is outside 0..65535",
        "listen | ::1:7171 | listen: \"::1:7171\" has several colons; write an IPv6 host in"
            + " brackets, as in [::1]:7171",
        "listen | 0.0.0.0:7171 | advertised = 0.0.0.0:7171 names every interface, so nobody could"
            + " connect to it. Set advertised to an address that clients and the other brokers can"
            + " reach",
        "advertised | 127.0.0.1:0 | advertised = 127.0.0.1:0 has port 0; that is only possible with"
            + " listen port 0",
        "advertised | other:7171 | cluster.brokers has 1@127.0.0.1:7171 for this broker, but it"
            + " advertises other:7171. Make the two equal",
        "cluster.brokers | 127.0.0.1:7171 | cluster.brokers has \"127.0.0.1:7171\"; write"
            + " id@host:port, for example 1@127.0.0.1:7171,2@127.0.0.1:7172",
        "cluster.brokers | 2@a:1,2@b:1 | cluster.brokers names broker 2 twice: a:1 and b:1",
        "cluster.brokers | 2@0.0.0.0:1 | cluster.brokers has 2@0.0.0.0:1, which cannot be connected"
            + " to. Give a host and a port that others reach",
        "cluster.brokers | 0@a:1 | cluster.brokers = 0 is below the least value 1",
        "peer.tls.key | /k | of peer.tls.certificate, peer.tls.key and peer.tls.trust only 1 of 3"
            + " are set (/k); set all of them for TLS between brokers, or none",
        "max.frame.bytes | 1000 | max.frame.bytes = 1000 is below the least value 1048576",
        "max.frame.bytes | 1GiB | max.frame.bytes = 1073741824 is above the limit 268435456",
        "max.frame.bytes | 20 MB | max.frame.bytes = 20 MB is not a size; write bytes, or a whole"
            + " number with KiB, MiB or GiB",
        "max.frame.bytes | 99999999999GiB | max.frame.bytes = 99999999999GiB is not a size; write"
            + " bytes, or a whole number with KiB, MiB or GiB",
        "network.in.bytes | 1MiB | network.in.bytes = 1048576 is below max.frame.bytes = 20971520;"
            + " the largest frame could never be received. Raise the first or lower the second",
        "append.inflight.bytes | 1MiB | append.inflight.bytes = 1048576 is below the least value"
            + " 20971520",
        "network.out.bytes | 1 | network.out.bytes = 1 is below the least value 65536",
        "fetch.response.bytes | 1 | fetch.response.bytes = 1 is below the least value 20971520",
        "max.connections | 0 | max.connections = 0 is below the least value 1",
        "network.client.threads | 0 | network.client.threads = 0 is below the least value 1",
        "network.peer.threads | 65 | network.peer.threads = 65 is above the limit 64",
        "connection.out.bytes | 1 | connection.out.bytes = 1 is below the least value 65536",
        "connection.requests | 0 | connection.requests = 0 is below the least value 1",
        "handshake.timeout.millis | 99 | handshake.timeout.millis = 99 is below the least value"
            + " 100",
        "stall.timeout.millis | 99 | stall.timeout.millis = 99 is below the least value 100",
        "raft.election.timeout.millis | 99 | raft.election.timeout.millis = 99 is below the least"
            + " value 100",
        "raft.election.timeout.millis | 60001 | raft.election.timeout.millis = 60001 is above the"
            + " limit 60000",
        "checkpoint.bytes | 1 | checkpoint.bytes = 1 is below the least value 65536",
        "checkpoint.interval.millis | 1 | checkpoint.interval.millis = 1 is below the least value"
            + " 100",
      })
  void refusesTheValueInOneLine(String key, String value, String message) {
    assertThatThrownBy(() -> with(key, value))
        .isInstanceOf(ConfigException.class)
        .hasMessage(message);
  }

  @ParameterizedTest
  @CsvSource({"broker.id", "listen", "data.dir", "cluster.brokers"})
  void aRequiredKeyIsNamedWhenMissing(String key) {
    Properties properties = valid();
    properties.remove(key);
    assertThatThrownBy(() -> BrokerConfig.of(properties, HEAP))
        .isInstanceOf(ConfigException.class)
        .hasMessageStartingWith(key + " is missing. ");
  }

  @Test
  void aBlankValueCountsAsMissing() {
    assertThatThrownBy(() -> with("data.dir", "  ")).hasMessageStartingWith("data.dir is missing");
  }

  @Test
  void fileErrorsNameTheFile() throws IOException {
    Path missing = dir.resolve("none.properties");
    assertThatThrownBy(() -> BrokerConfig.load(missing))
        .hasMessage("configuration file " + missing + " does not exist");
    Path broken = dir.resolve("broken.properties");
    Files.writeString(broken, "broker.id = \\u00zz");
    assertThatThrownBy(() -> BrokerConfig.load(broken))
        .hasMessageStartingWith("configuration file " + broken + " cannot be read: ");
    Path typo = dir.resolve("typo.properties");
    Files.writeString(typo, "brokerid = 1");
    assertThatThrownBy(() -> BrokerConfig.load(typo))
        .hasMessage(typo + ": unknown key \"brokerid\" (value \"1\"); did you mean \"broker.id\"?");
  }

  @Test
  void addressesWithBracketsAndNames() {
    assertThat(HostPort.parse("[::1]:9")).isEqualTo(new HostPort("::1", 9)).hasToString("[::1]:9");
    assertThat(HostPort.parse(" host.example:1 ")).hasToString("host.example:1");
    assertThat(new HostPort("h", 0).withPort(5)).hasToString("h:5");
  }
}
