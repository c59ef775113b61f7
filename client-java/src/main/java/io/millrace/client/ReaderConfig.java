package io.millrace.client;

/**
 * Settings of a {@link Reader}.
 *
 * @param prefetchRecords records handed over and not processed, or fetched ahead, at most; a whole
 *     batch more can wait here, kept back
 * @param prefetchBytes the same in bytes as fetched (compressed), plus one batch per broker
 * @param maxPollRecords records that one {@code poll} returns at most; at most prefetchRecords.
 *     Below it the rest is fetched while the application works
 * @param maxBytes of one fetch response
 * @param maxWaitMillis how long a broker waits for minBytes
 * @param minBytes of one fetch response, unless maxWaitMillis is over
 * @param maxDecompressedBytes a batch that decompresses to more is reported as unreadable
 * @param start where partitions begin that are assigned and not sought
 */
public record ReaderConfig(
    int prefetchRecords,
    long prefetchBytes,
    int maxPollRecords,
    int maxBytes,
    int maxWaitMillis,
    int minBytes,
    int maxDecompressedBytes,
    OnLost onLost,
    OffsetSpec start) {

  public static final int DEFAULT_PREFETCH_RECORDS = 1_000;
  public static final long DEFAULT_PREFETCH_BYTES = 32L << 20;
  public static final int DEFAULT_MAX_POLL_RECORDS = 500;
  public static final int DEFAULT_MAX_BYTES = 8 << 20;
  public static final int DEFAULT_MAX_WAIT_MILLIS = 500;
  public static final int DEFAULT_MIN_BYTES = 1;
  public static final int DEFAULT_MAX_DECOMPRESSED_BYTES = 64 << 20;

  public ReaderConfig {
    Checks.atLeast("prefetchRecords", prefetchRecords, 1);
    Checks.atLeast("prefetchBytes", prefetchBytes, 1);
    Checks.between("maxPollRecords", maxPollRecords, 1, prefetchRecords);
    Checks.between("maxBytes", maxBytes, 1, 1 << 30);
    Checks.between("maxWaitMillis", maxWaitMillis, 0, 60_000);
    Checks.between("minBytes", minBytes, 0, maxBytes);
    Checks.atLeast("maxDecompressedBytes", maxDecompressedBytes, 1);
    Checks.notNull("onLost", onLost);
    Checks.notNull("start", start);
  }

  public ReaderConfig() {
    this(
        DEFAULT_PREFETCH_RECORDS,
        DEFAULT_PREFETCH_BYTES,
        DEFAULT_MAX_POLL_RECORDS,
        DEFAULT_MAX_BYTES,
        DEFAULT_MAX_WAIT_MILLIS,
        DEFAULT_MIN_BYTES,
        DEFAULT_MAX_DECOMPRESSED_BYTES,
        OnLost.FAIL,
        OffsetSpec.earliest());
  }

  /** Lowers maxPollRecords with it where needed. */
  public ReaderConfig withPrefetchRecords(int prefetchRecords) {
    int maxPollRecords = Math.max(1, Math.min(this.maxPollRecords, prefetchRecords));
    return new ReaderConfig(
        prefetchRecords,
        prefetchBytes,
        maxPollRecords,
        maxBytes,
        maxWaitMillis,
        minBytes,
        maxDecompressedBytes,
        onLost,
        start);
  }

  public ReaderConfig withPrefetchBytes(long prefetchBytes) {
    return new ReaderConfig(
        prefetchRecords,
        prefetchBytes,
        maxPollRecords,
        maxBytes,
        maxWaitMillis,
        minBytes,
        maxDecompressedBytes,
        onLost,
        start);
  }

  public ReaderConfig withMaxPollRecords(int maxPollRecords) {
    return new ReaderConfig(
        prefetchRecords,
        prefetchBytes,
        maxPollRecords,
        maxBytes,
        maxWaitMillis,
        minBytes,
        maxDecompressedBytes,
        onLost,
        start);
  }

  public ReaderConfig withMaxBytes(int maxBytes) {
    return new ReaderConfig(
        prefetchRecords,
        prefetchBytes,
        maxPollRecords,
        maxBytes,
        maxWaitMillis,
        minBytes,
        maxDecompressedBytes,
        onLost,
        start);
  }

  public ReaderConfig withMaxWaitMillis(int maxWaitMillis) {
    return new ReaderConfig(
        prefetchRecords,
        prefetchBytes,
        maxPollRecords,
        maxBytes,
        maxWaitMillis,
        minBytes,
        maxDecompressedBytes,
        onLost,
        start);
  }

  public ReaderConfig withMinBytes(int minBytes) {
    return new ReaderConfig(
        prefetchRecords,
        prefetchBytes,
        maxPollRecords,
        maxBytes,
        maxWaitMillis,
        minBytes,
        maxDecompressedBytes,
        onLost,
        start);
  }

  public ReaderConfig withMaxDecompressedBytes(int maxDecompressedBytes) {
    return new ReaderConfig(
        prefetchRecords,
        prefetchBytes,
        maxPollRecords,
        maxBytes,
        maxWaitMillis,
        minBytes,
        maxDecompressedBytes,
        onLost,
        start);
  }

  public ReaderConfig withOnLost(OnLost onLost) {
    return new ReaderConfig(
        prefetchRecords,
        prefetchBytes,
        maxPollRecords,
        maxBytes,
        maxWaitMillis,
        minBytes,
        maxDecompressedBytes,
        onLost,
        start);
  }

  public ReaderConfig withStart(OffsetSpec start) {
    return new ReaderConfig(
        prefetchRecords,
        prefetchBytes,
        maxPollRecords,
        maxBytes,
        maxWaitMillis,
        minBytes,
        maxDecompressedBytes,
        onLost,
        start);
  }
}
