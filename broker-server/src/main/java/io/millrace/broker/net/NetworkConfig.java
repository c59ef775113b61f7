package io.millrace.broker.net;

/**
 * Limits of the network layer; every value is checked here, so a server never starts with a
 * senseless one. Bytes are bounded per frame, per connection and for the whole broker.
 *
 * @param clientThreads event loops of client connections
 * @param peerThreads event loops of connections from other brokers, so that no client delays a vote
 * @param maxFrameBytes largest frame after the handshake
 * @param maxConnections client connections; other brokers are admitted beyond it
 * @param inBytes frames being received, over all connections of clients, and as much again over all
 *     connections of brokers
 * @param outBytes responses that the sockets have not taken yet, over all connections
 * @param outBytesPerConnection responses that one socket has not taken yet
 * @param requestsPerConnection unanswered requests of one connection
 * @param handshakeMillis how long a connection may live without HELLO or PEER_PROOF
 * @param stallMillis how long half a frame, or a response that the socket does not take, may sit
 *     still before the connection is closed
 */
public record NetworkConfig(
    int clientThreads,
    int peerThreads,
    int maxFrameBytes,
    int maxConnections,
    long inBytes,
    long outBytes,
    int outBytesPerConnection,
    int requestsPerConnection,
    int handshakeMillis,
    int stallMillis) {

  /** Bound of a frame before the handshake is done: what belongs to it is far smaller. */
  public static final int HANDSHAKE_FRAME_BYTES = 4 * 1024;

  public static final int DEFAULT_PEER_THREADS = 2;
  public static final int DEFAULT_MAX_FRAME_BYTES = 20 * 1024 * 1024;
  public static final int DEFAULT_MAX_CONNECTIONS = 1_000;
  public static final int DEFAULT_OUT_BYTES_PER_CONNECTION = 4 * 1024 * 1024;
  public static final int DEFAULT_REQUESTS_PER_CONNECTION = 256;
  public static final int DEFAULT_HANDSHAKE_MILLIS = 10_000;
  public static final int DEFAULT_STALL_MILLIS = 30_000;

  /** Room for a record of the largest settable size (16 MiB) in a batch with its header. */
  public static final int MIN_MAX_FRAME_BYTES = 1024 * 1024;

  public static final int MAX_MAX_FRAME_BYTES = 256 * 1024 * 1024;

  public NetworkConfig {
    range("network.client.threads", clientThreads, 1, 256);
    range("network.peer.threads", peerThreads, 1, 64);
    range("max.frame.bytes", maxFrameBytes, MIN_MAX_FRAME_BYTES, MAX_MAX_FRAME_BYTES);
    range("max.connections", maxConnections, 1, 1_000_000);
    if (inBytes < maxFrameBytes) {
      throw new IllegalArgumentException(
          "network.in.bytes = "
              + inBytes
              + " is below max.frame.bytes = "
              + maxFrameBytes
              + "; the largest frame could never be received. Raise the first or lower the second");
    }
    range("network.out.bytes", outBytes, 64 * 1024, Long.MAX_VALUE);
    range("connection.out.bytes", outBytesPerConnection, 64 * 1024, Integer.MAX_VALUE);
    range("connection.requests", requestsPerConnection, 1, 100_000);
    range("handshake.timeout.millis", handshakeMillis, 100, 600_000);
    range("stall.timeout.millis", stallMillis, 100, 3_600_000);
  }

  /** Defaults for a JVM with that maximum heap. */
  public static NetworkConfig defaults(long maxHeapBytes) {
    return new NetworkConfig(
        defaultClientThreads(),
        DEFAULT_PEER_THREADS,
        DEFAULT_MAX_FRAME_BYTES,
        DEFAULT_MAX_CONNECTIONS,
        defaultInBytes(maxHeapBytes, DEFAULT_MAX_FRAME_BYTES),
        defaultOutBytes(maxHeapBytes),
        DEFAULT_OUT_BYTES_PER_CONNECTION,
        DEFAULT_REQUESTS_PER_CONNECTION,
        DEFAULT_HANDSHAKE_MILLIS,
        DEFAULT_STALL_MILLIS);
  }

  public static int defaultClientThreads() {
    return Math.min(16, Math.max(2, Runtime.getRuntime().availableProcessors()));
  }

  /** An eighth of the heap, and room for two of the largest frames. */
  public static long defaultInBytes(long maxHeapBytes, int maxFrameBytes) {
    return Math.max(maxHeapBytes / 8, 2L * maxFrameBytes);
  }

  /** An eighth of the heap; record batches leave as file regions and need none of it. */
  public static long defaultOutBytes(long maxHeapBytes) {
    return Math.max(maxHeapBytes / 8, 16L * 1024 * 1024);
  }

  private static void range(String key, long value, long min, long max) {
    if (value < min || value > max) {
      throw new IllegalArgumentException(
          key
              + " = "
              + value
              + (value < min ? " is below the least value " + min : " is above the limit " + max));
    }
  }
}
