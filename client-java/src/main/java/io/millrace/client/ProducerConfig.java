package io.millrace.client;

import io.millrace.protocol.batch.Compression;

/**
 * Settings of a {@link Producer}.
 *
 * @param lingerMillis how long a batch waits for more records; 0 = sent at once, which under load
 *     still makes batches because records gather while requests are under way
 * @param batchBytes a batch is closed at this size before compression; one larger record makes a
 *     batch of its own
 * @param bufferBytes memory for records that are not decided yet: their bytes and {@value
 *     #RECORD_OVERHEAD_BYTES} per record. Beyond it {@code send} fails and {@code sendBlocking}
 *     waits
 * @param deliveryTimeoutMillis from {@code send} to the end of all attempts
 * @param requestTimeoutMillis how long one attempt waits for its answer
 * @param maxInFlightPerPartition batches sent and undecided per partition, at most 5: brokers
 *     recognise a repetition among the last five batches
 * @param retryBackoffMillis wait before a repetition; doubles up to retryBackoffMaxMillis, with 20
 *     % jitter
 */
public record ProducerConfig(
    int lingerMillis,
    int batchBytes,
    Compression compression,
    long bufferBytes,
    int deliveryTimeoutMillis,
    int requestTimeoutMillis,
    int maxInFlightPerPartition,
    int retryBackoffMillis,
    int retryBackoffMaxMillis) {

  public static final int DEFAULT_LINGER_MILLIS = 5;
  public static final int DEFAULT_BATCH_BYTES = 128 << 10;
  public static final Compression DEFAULT_COMPRESSION = Compression.NONE;
  public static final long DEFAULT_BUFFER_BYTES = 32L << 20;
  public static final int DEFAULT_DELIVERY_TIMEOUT_MILLIS = 120_000;
  public static final int DEFAULT_REQUEST_TIMEOUT_MILLIS = 30_000;
  public static final int DEFAULT_MAX_IN_FLIGHT_PER_PARTITION = 5;
  public static final int DEFAULT_RETRY_BACKOFF_MILLIS = 20;
  public static final int DEFAULT_RETRY_BACKOFF_MAX_MILLIS = 1_000;

  /** Counted per record beside its bytes: its future and what hangs on it. */
  public static final int RECORD_OVERHEAD_BYTES = 64;

  private static final int MIN_BATCH_BYTES = 256;
  private static final int MAX_BATCH_BYTES = 16 << 20;

  public ProducerConfig {
    Checks.between("lingerMillis", lingerMillis, 0, 60_000);
    Checks.between("batchBytes", batchBytes, MIN_BATCH_BYTES, MAX_BATCH_BYTES);
    Checks.notNull("compression", compression);
    Checks.atLeast("bufferBytes", bufferBytes, batchBytes);
    Checks.atLeast("deliveryTimeoutMillis", deliveryTimeoutMillis, 1);
    Checks.atLeast("requestTimeoutMillis", requestTimeoutMillis, 1);
    Checks.between("maxInFlightPerPartition", maxInFlightPerPartition, 1, 5);
    Checks.atLeast("retryBackoffMillis", retryBackoffMillis, 1);
    Checks.atLeast("retryBackoffMaxMillis", retryBackoffMaxMillis, retryBackoffMillis);
  }

  public ProducerConfig() {
    this(
        DEFAULT_LINGER_MILLIS,
        DEFAULT_BATCH_BYTES,
        DEFAULT_COMPRESSION,
        DEFAULT_BUFFER_BYTES,
        DEFAULT_DELIVERY_TIMEOUT_MILLIS,
        DEFAULT_REQUEST_TIMEOUT_MILLIS,
        DEFAULT_MAX_IN_FLIGHT_PER_PARTITION,
        DEFAULT_RETRY_BACKOFF_MILLIS,
        DEFAULT_RETRY_BACKOFF_MAX_MILLIS);
  }

  public ProducerConfig withLingerMillis(int lingerMillis) {
    return new ProducerConfig(
        lingerMillis,
        batchBytes,
        compression,
        bufferBytes,
        deliveryTimeoutMillis,
        requestTimeoutMillis,
        maxInFlightPerPartition,
        retryBackoffMillis,
        retryBackoffMaxMillis);
  }

  public ProducerConfig withBatchBytes(int batchBytes) {
    return new ProducerConfig(
        lingerMillis,
        batchBytes,
        compression,
        bufferBytes,
        deliveryTimeoutMillis,
        requestTimeoutMillis,
        maxInFlightPerPartition,
        retryBackoffMillis,
        retryBackoffMaxMillis);
  }

  public ProducerConfig withCompression(Compression compression) {
    return new ProducerConfig(
        lingerMillis,
        batchBytes,
        compression,
        bufferBytes,
        deliveryTimeoutMillis,
        requestTimeoutMillis,
        maxInFlightPerPartition,
        retryBackoffMillis,
        retryBackoffMaxMillis);
  }

  public ProducerConfig withBufferBytes(long bufferBytes) {
    return new ProducerConfig(
        lingerMillis,
        batchBytes,
        compression,
        bufferBytes,
        deliveryTimeoutMillis,
        requestTimeoutMillis,
        maxInFlightPerPartition,
        retryBackoffMillis,
        retryBackoffMaxMillis);
  }

  public ProducerConfig withDeliveryTimeoutMillis(int deliveryTimeoutMillis) {
    return new ProducerConfig(
        lingerMillis,
        batchBytes,
        compression,
        bufferBytes,
        deliveryTimeoutMillis,
        requestTimeoutMillis,
        maxInFlightPerPartition,
        retryBackoffMillis,
        retryBackoffMaxMillis);
  }

  public ProducerConfig withRequestTimeoutMillis(int requestTimeoutMillis) {
    return new ProducerConfig(
        lingerMillis,
        batchBytes,
        compression,
        bufferBytes,
        deliveryTimeoutMillis,
        requestTimeoutMillis,
        maxInFlightPerPartition,
        retryBackoffMillis,
        retryBackoffMaxMillis);
  }

  public ProducerConfig withMaxInFlightPerPartition(int maxInFlightPerPartition) {
    return new ProducerConfig(
        lingerMillis,
        batchBytes,
        compression,
        bufferBytes,
        deliveryTimeoutMillis,
        requestTimeoutMillis,
        maxInFlightPerPartition,
        retryBackoffMillis,
        retryBackoffMaxMillis);
  }

  public ProducerConfig withRetryBackoffMillis(int retryBackoffMillis) {
    return new ProducerConfig(
        lingerMillis,
        batchBytes,
        compression,
        bufferBytes,
        deliveryTimeoutMillis,
        requestTimeoutMillis,
        maxInFlightPerPartition,
        retryBackoffMillis,
        retryBackoffMaxMillis);
  }

  public ProducerConfig withRetryBackoffMaxMillis(int retryBackoffMaxMillis) {
    return new ProducerConfig(
        lingerMillis,
        batchBytes,
        compression,
        bufferBytes,
        deliveryTimeoutMillis,
        requestTimeoutMillis,
        maxInFlightPerPartition,
        retryBackoffMillis,
        retryBackoffMaxMillis);
  }
}
