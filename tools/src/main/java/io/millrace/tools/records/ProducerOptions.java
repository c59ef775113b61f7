package io.millrace.tools.records;

import io.millrace.client.ProducerConfig;
import io.millrace.protocol.batch.Compression;
import io.millrace.tools.Quantities;
import io.millrace.tools.UsageFailure;
import java.time.Duration;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Option;
import picocli.CommandLine.TypeConversionException;

/** How records are batched and sent: the options of every command that produces. */
public final class ProducerOptions {
  @Option(
      names = "--compression",
      paramLabel = "CODEC",
      converter = CompressionConverter.class,
      description = "none, gzip, snappy, lz4 or zstd. Default: none")
  private Compression compression = Compression.NONE;

  @Option(
      names = "--batch-bytes",
      paramLabel = "SIZE",
      converter = Quantities.BytesConverter.class,
      description = "Largest batch. Default: 128k")
  private Long batchBytes = 128L * 1024;

  @Option(
      names = "--linger",
      paramLabel = "TIME",
      converter = Quantities.DurationConverter.class,
      description = "How long a batch waits for more records. Default: 5ms")
  private Duration linger = Duration.ofMillis(5);

  @Option(
      names = "--buffer-bytes",
      paramLabel = "SIZE",
      converter = Quantities.BytesConverter.class,
      description = "Memory for records that are not acknowledged yet. Default: 32m")
  private Long bufferBytes = 32L * 1024 * 1024;

  @Option(
      names = "--delivery-timeout",
      paramLabel = "TIME",
      converter = Quantities.DurationConverter.class,
      description = "How long a record may take, retries included. Default: 60s")
  private Duration deliveryTimeout = Duration.ofSeconds(60);

  public ProducerConfig config(Duration requestTimeout) {
    if (batchBytes < 1 || batchBytes > Integer.MAX_VALUE / 2) {
      throw new UsageFailure("--batch-bytes " + batchBytes + " is not in 1 to 1 GiB");
    }
    if (bufferBytes < batchBytes) {
      throw new UsageFailure(
          "--buffer-bytes " + bufferBytes + " is below --batch-bytes " + batchBytes);
    }
    return new ProducerConfig()
        .withLingerMillis(Math.toIntExact(linger.toMillis()))
        .withBatchBytes(Math.toIntExact(batchBytes))
        .withCompression(compression)
        .withBufferBytes(bufferBytes)
        .withDeliveryTimeoutMillis(Math.toIntExact(deliveryTimeout.toMillis()))
        .withRequestTimeoutMillis(Math.toIntExact(requestTimeout.toMillis()));
  }

  public Duration deliveryTimeout() {
    return deliveryTimeout;
  }

  public Compression compression() {
    return compression;
  }

  public long batchBytes() {
    return batchBytes;
  }

  public Duration linger() {
    return linger;
  }

  static final class CompressionConverter implements ITypeConverter<Compression> {
    @Override
    public Compression convert(String value) {
      try {
        return Compression.of(value);
      } catch (IllegalArgumentException e) {
        throw new TypeConversionException(
            "'" + value + "' is not one of none, gzip, snappy, lz4, zstd");
      }
    }
  }
}
