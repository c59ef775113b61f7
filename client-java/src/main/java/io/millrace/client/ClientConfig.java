package io.millrace.client;

import io.millrace.client.error.InvalidArgumentException;
import io.millrace.client.net.BrokerAddress;
import java.util.List;

/**
 * Settings of a {@link MillraceClient}.
 *
 * @param bootstrap "host:port" of some brokers; the others are learned from them
 * @param clientId shown by brokers in logs and errors
 * @param requestTimeoutMillis how long one request may take, and an admin call with its repetitions
 * @param connectTimeoutMillis how long a TCP connect and the greeting may take each
 * @param reconnectBackoffMillis wait after a failed connect; doubles up to
 *     reconnectBackoffMaxMillis, with 20 % jitter
 * @param metadataMaxAgeMillis topics and leaders are asked for again after this, with 20 % jitter;
 *     at once when a broker says that it no longer leads
 * @param unknownTopicMillis how long a topic that brokers do not know is asked for again before an
 *     operation on it fails: a broker may hear of a new topic a moment later than its creator
 * @param maxFrameBytes largest response taken
 * @param ioThreads event loop threads, 1 or 2
 */
public record ClientConfig(
    List<String> bootstrap,
    String clientId,
    int requestTimeoutMillis,
    int connectTimeoutMillis,
    int reconnectBackoffMillis,
    int reconnectBackoffMaxMillis,
    int metadataMaxAgeMillis,
    int unknownTopicMillis,
    int maxFrameBytes,
    int ioThreads) {

  public static final String DEFAULT_CLIENT_ID = "millrace-java";
  public static final int DEFAULT_REQUEST_TIMEOUT_MILLIS = 30_000;
  public static final int DEFAULT_CONNECT_TIMEOUT_MILLIS = 5_000;
  public static final int DEFAULT_RECONNECT_BACKOFF_MILLIS = 50;
  public static final int DEFAULT_RECONNECT_BACKOFF_MAX_MILLIS = 1_000;
  public static final int DEFAULT_METADATA_MAX_AGE_MILLIS = 60_000;
  public static final int DEFAULT_UNKNOWN_TOPIC_MILLIS = 1_000;
  public static final int DEFAULT_MAX_FRAME_BYTES = 128 << 20;
  public static final int DEFAULT_IO_THREADS = 1;

  private static final int MIN_FRAME_BYTES = 64 << 10;
  private static final int MAX_FRAME_BYTES = 1 << 30;

  public ClientConfig {
    if (bootstrap == null || bootstrap.isEmpty()) {
      throw new InvalidArgumentException(
          "the bootstrap list is empty; give at least one broker as host:port");
    }
    bootstrap = List.copyOf(bootstrap);
    bootstrap.forEach(BrokerAddress::parse);
    if (clientId == null || clientId.isBlank()) {
      throw new InvalidArgumentException("clientId is empty; give a name that you will recognise");
    }
    Checks.atLeast("requestTimeoutMillis", requestTimeoutMillis, 1);
    Checks.atLeast("connectTimeoutMillis", connectTimeoutMillis, 1);
    Checks.atLeast("reconnectBackoffMillis", reconnectBackoffMillis, 1);
    Checks.atLeast("reconnectBackoffMaxMillis", reconnectBackoffMaxMillis, reconnectBackoffMillis);
    Checks.atLeast("metadataMaxAgeMillis", metadataMaxAgeMillis, 100);
    Checks.atLeast("unknownTopicMillis", unknownTopicMillis, 0);
    Checks.between("maxFrameBytes", maxFrameBytes, MIN_FRAME_BYTES, MAX_FRAME_BYTES);
    Checks.between("ioThreads", ioThreads, 1, 2);
  }

  public ClientConfig(List<String> bootstrap) {
    this(
        bootstrap,
        DEFAULT_CLIENT_ID,
        DEFAULT_REQUEST_TIMEOUT_MILLIS,
        DEFAULT_CONNECT_TIMEOUT_MILLIS,
        DEFAULT_RECONNECT_BACKOFF_MILLIS,
        DEFAULT_RECONNECT_BACKOFF_MAX_MILLIS,
        DEFAULT_METADATA_MAX_AGE_MILLIS,
        DEFAULT_UNKNOWN_TOPIC_MILLIS,
        DEFAULT_MAX_FRAME_BYTES,
        DEFAULT_IO_THREADS);
  }

  public static ClientConfig of(String... bootstrap) {
    return new ClientConfig(List.of(bootstrap));
  }

  public ClientConfig withBootstrap(List<String> bootstrap) {
    return new ClientConfig(
        bootstrap,
        clientId,
        requestTimeoutMillis,
        connectTimeoutMillis,
        reconnectBackoffMillis,
        reconnectBackoffMaxMillis,
        metadataMaxAgeMillis,
        unknownTopicMillis,
        maxFrameBytes,
        ioThreads);
  }

  public ClientConfig withClientId(String clientId) {
    return new ClientConfig(
        bootstrap,
        clientId,
        requestTimeoutMillis,
        connectTimeoutMillis,
        reconnectBackoffMillis,
        reconnectBackoffMaxMillis,
        metadataMaxAgeMillis,
        unknownTopicMillis,
        maxFrameBytes,
        ioThreads);
  }

  public ClientConfig withRequestTimeoutMillis(int requestTimeoutMillis) {
    return new ClientConfig(
        bootstrap,
        clientId,
        requestTimeoutMillis,
        connectTimeoutMillis,
        reconnectBackoffMillis,
        reconnectBackoffMaxMillis,
        metadataMaxAgeMillis,
        unknownTopicMillis,
        maxFrameBytes,
        ioThreads);
  }

  public ClientConfig withConnectTimeoutMillis(int connectTimeoutMillis) {
    return new ClientConfig(
        bootstrap,
        clientId,
        requestTimeoutMillis,
        connectTimeoutMillis,
        reconnectBackoffMillis,
        reconnectBackoffMaxMillis,
        metadataMaxAgeMillis,
        unknownTopicMillis,
        maxFrameBytes,
        ioThreads);
  }

  public ClientConfig withReconnectBackoffMillis(int reconnectBackoffMillis) {
    return new ClientConfig(
        bootstrap,
        clientId,
        requestTimeoutMillis,
        connectTimeoutMillis,
        reconnectBackoffMillis,
        reconnectBackoffMaxMillis,
        metadataMaxAgeMillis,
        unknownTopicMillis,
        maxFrameBytes,
        ioThreads);
  }

  public ClientConfig withReconnectBackoffMaxMillis(int reconnectBackoffMaxMillis) {
    return new ClientConfig(
        bootstrap,
        clientId,
        requestTimeoutMillis,
        connectTimeoutMillis,
        reconnectBackoffMillis,
        reconnectBackoffMaxMillis,
        metadataMaxAgeMillis,
        unknownTopicMillis,
        maxFrameBytes,
        ioThreads);
  }

  public ClientConfig withMetadataMaxAgeMillis(int metadataMaxAgeMillis) {
    return new ClientConfig(
        bootstrap,
        clientId,
        requestTimeoutMillis,
        connectTimeoutMillis,
        reconnectBackoffMillis,
        reconnectBackoffMaxMillis,
        metadataMaxAgeMillis,
        unknownTopicMillis,
        maxFrameBytes,
        ioThreads);
  }

  public ClientConfig withUnknownTopicMillis(int unknownTopicMillis) {
    return new ClientConfig(
        bootstrap,
        clientId,
        requestTimeoutMillis,
        connectTimeoutMillis,
        reconnectBackoffMillis,
        reconnectBackoffMaxMillis,
        metadataMaxAgeMillis,
        unknownTopicMillis,
        maxFrameBytes,
        ioThreads);
  }

  public ClientConfig withMaxFrameBytes(int maxFrameBytes) {
    return new ClientConfig(
        bootstrap,
        clientId,
        requestTimeoutMillis,
        connectTimeoutMillis,
        reconnectBackoffMillis,
        reconnectBackoffMaxMillis,
        metadataMaxAgeMillis,
        unknownTopicMillis,
        maxFrameBytes,
        ioThreads);
  }

  public ClientConfig withIoThreads(int ioThreads) {
    return new ClientConfig(
        bootstrap,
        clientId,
        requestTimeoutMillis,
        connectTimeoutMillis,
        reconnectBackoffMillis,
        reconnectBackoffMaxMillis,
        metadataMaxAgeMillis,
        unknownTopicMillis,
        maxFrameBytes,
        ioThreads);
  }
}
