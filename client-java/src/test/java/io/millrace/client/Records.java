package io.millrace.client;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.millrace.protocol.error.MillraceException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Short forms for tests. */
public final class Records {

  public static final int WAIT_SECONDS = 15;

  private Records() {}

  public static byte[] bytes(String text) {
    return text.getBytes(UTF_8);
  }

  public static ProducerRecord to(String topic, int partition, String value) {
    return ProducerRecord.of(topic, bytes(value)).toPartition(partition);
  }

  public static ProducerRecord keyed(String topic, String key, String value) {
    return ProducerRecord.of(topic, bytes(key), bytes(value));
  }

  public static <T> T get(CompletableFuture<T> future) {
    try {
      return future.get(WAIT_SECONDS, TimeUnit.SECONDS);
    } catch (ExecutionException e) {
      if (e.getCause() instanceof MillraceException failure) {
        throw failure;
      }
      throw new AssertionError(e);
    } catch (TimeoutException | InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  /** The failure of a future that must fail. */
  public static MillraceException failure(CompletableFuture<?> future) {
    try {
      Object value = future.get(WAIT_SECONDS, TimeUnit.SECONDS);
      throw new AssertionError("expected a failure, got " + value);
    } catch (ExecutionException e) {
      return (MillraceException) e.getCause();
    } catch (TimeoutException | InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  /** Polls until so many records are there. */
  public static List<ReceivedRecord> read(Reader reader, int count) {
    List<ReceivedRecord> records = new ArrayList<>();
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(WAIT_SECONDS);
    while (records.size() < count) {
      records.addAll(reader.poll(200));
      if (System.nanoTime() - deadline > 0) {
        throw new AssertionError(
            records.size()
                + " of "
                + count
                + " records after "
                + WAIT_SECONDS
                + " s; "
                + reader.health());
      }
    }
    return records;
  }

  public static List<String> values(List<ReceivedRecord> records) {
    return records.stream().map(r -> new String(r.value(), UTF_8)).toList();
  }
}
