package io.millrace.broker;

import io.millrace.broker.net.NetworkConfig;
import io.millrace.broker.raft.RaftSettings;
import io.millrace.broker.raft.transport.PeerTlsFiles;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Properties;
import java.util.SortedMap;
import java.util.StringJoiner;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * The checked configuration of one broker. Immutable; made before anything starts, so a broker that
 * runs has sensible values only. Errors: {@link ConfigException} with one line naming key, value
 * and limit.
 *
 * @param clusterId the cluster that the data directory must belong to, empty for any
 * @param clusterBrokers addresses of the initial brokers by id
 * @param secretFile the secret that the brokers share; null = none
 * @param peerTls files for TLS between brokers; null = plain text
 * @param appendInflightBytes batches accepted and not yet replicated, over all partitions
 * @param fetchResponseBytes record batches in answers to fetches that are not sent
 * @param retention when what may go is looked for and deleted
 * @param faultsAllowed a client may command faults in the network to other brokers
 * @param effective every key with its value in use and where the value came from, for printing
 */
public record BrokerConfig(
    int brokerId,
    String clusterId,
    HostPort listen,
    HostPort advertised,
    Path dataDir,
    SortedMap<Integer, HostPort> clusterBrokers,
    Path secretFile,
    PeerTlsFiles peerTls,
    NetworkConfig network,
    long appendInflightBytes,
    long fetchResponseBytes,
    RaftSettings raft,
    RetentionTimes retention,
    long diskLowBytes,
    boolean faultsAllowed,
    Map<ConfigKey, Effective> effective) {

  public static final int MAX_BROKER_ID = 65_535;
  private static final long MIN_DISK_LOW_BYTES = 1024 * 1024;
  private static final long MIN_DEFAULT_FETCH_BYTES = 64L * 1024 * 1024;

  /** A value in use and its origin. */
  public record Effective(String value, Origin origin) {}

  /** Where a value came from. */
  public enum Origin {
    DEFAULT,
    FILE;

    @Override
    public String toString() {
      return name().toLowerCase(java.util.Locale.ROOT);
    }
  }

  public BrokerConfig {
    range(ConfigKey.BROKER_ID, brokerId, 1, MAX_BROKER_ID);
    if (advertised.isWildcard()) {
      throw new IllegalArgumentException(
          "advertised = "
              + advertised
              + " names every interface, so nobody could connect to it. Set advertised to an"
              + " address that clients and the other brokers can reach");
    }
    if (advertised.port() == 0 && listen.port() != 0) {
      throw new IllegalArgumentException(
          "advertised = " + advertised + " has port 0; that is only possible with listen port 0");
    }
    clusterBrokers.forEach(
        (id, address) -> {
          range(ConfigKey.CLUSTER_BROKERS, id, 1, MAX_BROKER_ID);
          if (address.isWildcard() || address.port() == 0) {
            throw new IllegalArgumentException(
                "cluster.brokers has "
                    + id
                    + "@"
                    + address
                    + ", which cannot be connected to. Give a host and a port that others reach");
          }
        });
    HostPort own = clusterBrokers.get(brokerId);
    if (own != null && advertised.port() != 0 && !own.equals(advertised)) {
      throw new IllegalArgumentException(
          "cluster.brokers has "
              + brokerId
              + "@"
              + own
              + " for this broker, but it advertises "
              + advertised
              + ". Make the two equal");
    }
    range(
        ConfigKey.APPEND_INFLIGHT_BYTES,
        appendInflightBytes,
        network.maxFrameBytes(),
        Long.MAX_VALUE);
    range(
        ConfigKey.FETCH_RESPONSE_BYTES,
        fetchResponseBytes,
        network.maxFrameBytes(),
        Long.MAX_VALUE);
    if (diskLowBytes != 0) {
      range(ConfigKey.DISK_LOW_BYTES, diskLowBytes, MIN_DISK_LOW_BYTES, Long.MAX_VALUE);
    }
    clusterBrokers = Collections.unmodifiableSortedMap(new TreeMap<>(clusterBrokers));
    effective =
        effective.isEmpty() ? Map.of() : Collections.unmodifiableMap(new EnumMap<>(effective));
  }

  /** Reads and checks a properties file (UTF-8). */
  public static BrokerConfig load(Path file) {
    Properties properties = new Properties();
    try (BufferedReader reader = Files.newBufferedReader(file, StandardCharsets.UTF_8)) {
      properties.load(reader);
    } catch (NoSuchFileException missing) {
      throw new ConfigException("configuration file " + file + " does not exist", missing);
    } catch (IOException | IllegalArgumentException unreadable) {
      throw new ConfigException(
          "configuration file " + file + " cannot be read: " + unreadable.getMessage(), unreadable);
    }
    try {
      return of(properties, Runtime.getRuntime().maxMemory());
    } catch (ConfigException wrong) {
      throw new ConfigException(file + ": " + wrong.getMessage(), wrong);
    }
  }

  /** Checks the given properties; defaults that depend on memory use the stated heap. */
  public static BrokerConfig of(Properties properties, long maxHeapBytes) {
    try {
      return parse(new ConfigValues(properties), maxHeapBytes);
    } catch (IllegalArgumentException wrong) {
      throw new ConfigException(wrong.getMessage(), wrong);
    }
  }

  private static BrokerConfig parse(ConfigValues values, long maxHeapBytes) {
    int brokerId = values.integer(ConfigKey.BROKER_ID, 0);
    HostPort listen = values.address(ConfigKey.LISTEN, null);
    HostPort advertised = values.address(ConfigKey.ADVERTISED, listen);
    Path dataDir = Path.of(values.text(ConfigKey.DATA_DIR)).toAbsolutePath().normalize();
    SortedMap<Integer, HostPort> brokers = values.brokers(ConfigKey.CLUSTER_BROKERS);
    int maxFrameBytes =
        (int)
            Math.min(
                Integer.MAX_VALUE,
                values.bytes(ConfigKey.MAX_FRAME_BYTES, NetworkConfig.DEFAULT_MAX_FRAME_BYTES));
    NetworkConfig network =
        new NetworkConfig(
            values.integer(ConfigKey.NETWORK_CLIENT_THREADS, NetworkConfig.defaultClientThreads()),
            values.integer(ConfigKey.NETWORK_PEER_THREADS, NetworkConfig.DEFAULT_PEER_THREADS),
            maxFrameBytes,
            values.integer(ConfigKey.MAX_CONNECTIONS, NetworkConfig.DEFAULT_MAX_CONNECTIONS),
            values.bytes(
                ConfigKey.NETWORK_IN_BYTES,
                NetworkConfig.defaultInBytes(maxHeapBytes, maxFrameBytes)),
            values.bytes(ConfigKey.NETWORK_OUT_BYTES, NetworkConfig.defaultOutBytes(maxHeapBytes)),
            (int)
                Math.min(
                    Integer.MAX_VALUE,
                    values.bytes(
                        ConfigKey.CONNECTION_OUT_BYTES,
                        NetworkConfig.DEFAULT_OUT_BYTES_PER_CONNECTION)),
            values.integer(
                ConfigKey.CONNECTION_REQUESTS, NetworkConfig.DEFAULT_REQUESTS_PER_CONNECTION),
            values.integer(
                ConfigKey.HANDSHAKE_TIMEOUT_MILLIS, NetworkConfig.DEFAULT_HANDSHAKE_MILLIS),
            values.integer(ConfigKey.STALL_TIMEOUT_MILLIS, NetworkConfig.DEFAULT_STALL_MILLIS));
    long appendInflightBytes =
        values.bytes(
            ConfigKey.APPEND_INFLIGHT_BYTES, Math.max(maxHeapBytes / 8, 2L * maxFrameBytes));
    return new BrokerConfig(
        brokerId,
        values.optionalText(ConfigKey.CLUSTER_ID),
        listen,
        advertised,
        dataDir,
        brokers,
        file(values, ConfigKey.CLUSTER_SECRET_FILE),
        peerTls(values),
        network,
        appendInflightBytes,
        values.bytes(
            ConfigKey.FETCH_RESPONSE_BYTES, Math.max(maxHeapBytes / 4, MIN_DEFAULT_FETCH_BYTES)),
        raftSettings(values),
        retentionTimes(values),
        values.bytes(ConfigKey.DISK_LOW_BYTES, 0),
        values.flag(ConfigKey.FAULTS_ALLOWED, false),
        values.effective());
  }

  private static Path file(ConfigValues values, ConfigKey key) {
    String path = values.optionalText(key);
    return path.isEmpty() ? null : Path.of(path).toAbsolutePath().normalize();
  }

  private static PeerTlsFiles peerTls(ConfigValues values) {
    PeerTlsFiles files =
        new PeerTlsFiles(
            file(values, ConfigKey.PEER_TLS_CERTIFICATE),
            file(values, ConfigKey.PEER_TLS_KEY),
            file(values, ConfigKey.PEER_TLS_TRUST));
    List<Path> set =
        Stream.of(files.certificate(), files.key(), files.trust())
            .filter(Objects::nonNull)
            .toList();
    if (set.size() == 1 || set.size() == 2) {
      throw new IllegalArgumentException(
          "of peer.tls.certificate, peer.tls.key and peer.tls.trust only "
              + set.size()
              + " of 3 are set ("
              + set.get(0)
              + "); set all of them for TLS between brokers, or none");
    }
    return set.isEmpty() ? null : files;
  }

  private static RaftSettings raftSettings(ConfigValues values) {
    int electionTimeoutMillis =
        values.integer(
            ConfigKey.RAFT_ELECTION_TIMEOUT_MILLIS, RaftSettings.DEFAULT_ELECTION_TIMEOUT_MILLIS);
    range(ConfigKey.RAFT_ELECTION_TIMEOUT_MILLIS, electionTimeoutMillis, 100, 60_000);
    long checkpointBytes =
        values.bytes(ConfigKey.CHECKPOINT_BYTES, RaftSettings.DEFAULT_CHECKPOINT_BYTES);
    range(ConfigKey.CHECKPOINT_BYTES, checkpointBytes, 64 * 1024, Long.MAX_VALUE);
    int checkpointMillis =
        values.integer(
            ConfigKey.CHECKPOINT_INTERVAL_MILLIS, (int) RaftSettings.DEFAULT_CHECKPOINT_MILLIS);
    range(ConfigKey.CHECKPOINT_INTERVAL_MILLIS, checkpointMillis, 100, 3_600_000);
    long refillBytes =
        values.bytes(
            ConfigKey.REFILL_BYTES_PER_SECOND, RaftSettings.DEFAULT_REFILL_BYTES_PER_SECOND);
    range(ConfigKey.REFILL_BYTES_PER_SECOND, refillBytes, 64 * 1024, Long.MAX_VALUE);
    long scrubBytes =
        values.bytes(ConfigKey.SCRUB_BYTES_PER_SECOND, RaftSettings.DEFAULT_SCRUB_BYTES_PER_SECOND);
    int scrubMillis =
        values.integer(
            ConfigKey.SCRUB_INTERVAL_MILLIS, (int) RaftSettings.DEFAULT_SCRUB_INTERVAL_MILLIS);
    range(ConfigKey.SCRUB_INTERVAL_MILLIS, scrubMillis, 100, Integer.MAX_VALUE);
    return new RaftSettings(
        electionTimeoutMillis,
        checkpointBytes,
        checkpointMillis,
        refillBytes,
        scrubBytes,
        scrubMillis);
  }

  private static RetentionTimes retentionTimes(ConfigValues values) {
    int checkMillis =
        values.integer(
            ConfigKey.RETENTION_CHECK_INTERVAL_MILLIS, RetentionTimes.DEFAULT_CHECK_MILLIS);
    range(
        ConfigKey.RETENTION_CHECK_INTERVAL_MILLIS,
        checkMillis,
        RetentionTimes.MIN_CHECK_MILLIS,
        RetentionTimes.MAX_CHECK_MILLIS);
    int deleteDelayMillis =
        values.integer(
            ConfigKey.SEGMENT_DELETE_DELAY_MILLIS, RetentionTimes.DEFAULT_DELETE_DELAY_MILLIS);
    range(
        ConfigKey.SEGMENT_DELETE_DELAY_MILLIS,
        deleteDelayMillis,
        0,
        RetentionTimes.MAX_DELETE_DELAY_MILLIS);
    return new RetentionTimes(checkMillis, deleteDelayMillis);
  }

  /** One line per key, in the order of the reference: {@code key = value (origin)}. */
  public String describe() {
    StringJoiner lines = new StringJoiner("\n");
    effective.forEach(
        (key, entry) -> lines.add(key.key() + " = " + entry.value() + " (" + entry.origin() + ")"));
    return lines.toString();
  }

  private static void range(ConfigKey key, long value, long min, long max) {
    if (value < min || value > max) {
      throw new IllegalArgumentException(
          key.key()
              + " = "
              + value
              + (value < min ? " is below the least value " + min : " is above the limit " + max));
    }
  }
}
