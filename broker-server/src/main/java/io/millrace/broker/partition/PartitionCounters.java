package io.millrace.broker.partition;

import io.millrace.protocol.error.ErrorCode;
import java.util.Collections;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;

/**
 * What the partitions of a broker count. Every name exists from the start, with value 0.
 *
 * <p>Threads: any.
 */
public final class PartitionCounters {

  /** Names are read by people and scripts: never renamed. */
  public enum Counter {
    BATCHES_PROPOSED,
    BATCHES_ACKNOWLEDGED,
    RECORDS_ACKNOWLEDGED,
    BYTES_ACKNOWLEDGED,
    /** Retries answered with the offset of the first attempt. */
    DUPLICATES_ANSWERED,
    /** Retries of a batch in flight, answered with its outcome. */
    DUPLICATES_PARKED,
    OUTCOMES_UNKNOWN,
    TIME_ENTRIES_PROPOSED,
    PRODUCERS_EXPIRED,
    /** Records that a move of the log start took away, on this broker's replicas. */
    RECORDS_REMOVED,
    FETCHES,
    FETCHES_PARKED,
    /** Parked fetches answered because their time was over. */
    FETCHES_EXPIRED,
    FETCHES_CANCELLED,
    FETCHED_BYTES,
    /** Stays 0: control batches take no offset and other readers misparse them. */
    CONTROL_BATCHES_SERVED,
    /** Stays 0: calls of the fault handler. */
    FAULTS
  }

  private final Map<Counter, LongAdder> counters = new EnumMap<>(Counter.class);
  private final Map<ErrorCode, LongAdder> refusedProduces = new EnumMap<>(ErrorCode.class);
  private final Map<ErrorCode, LongAdder> refusedFetches = new EnumMap<>(ErrorCode.class);

  public PartitionCounters() {
    for (Counter counter : Counter.values()) {
      counters.put(counter, new LongAdder());
    }
    for (ErrorCode code : ErrorCode.values()) {
      if (code != ErrorCode.NONE && code.number() < ErrorCode.BUFFER_FULL.number()) {
        refusedProduces.put(code, new LongAdder());
        refusedFetches.put(code, new LongAdder());
      }
    }
  }

  public void add(Counter counter, long count) {
    counters.get(counter).add(count);
  }

  public void increment(Counter counter) {
    add(counter, 1);
  }

  void produceRefused(ErrorCode code) {
    refusedProduces.get(code).increment();
  }

  void fetchRefused(ErrorCode code) {
    refusedFetches.get(code).increment();
  }

  public long value(Counter counter) {
    return counters.get(counter).sum();
  }

  /** Batches answered with this error. */
  public long producesRefused(ErrorCode code) {
    return refusedProduces.get(code).sum();
  }

  /** Partitions of fetches answered with this error. */
  public long fetchesRefused(ErrorCode code) {
    return refusedFetches.get(code).sum();
  }

  /** All values by name, in a fixed order. */
  public Map<String, Long> snapshot() {
    Map<String, Long> values = new LinkedHashMap<>();
    counters.forEach((counter, adder) -> values.put(lower(counter), adder.sum()));
    refusedProduces.forEach(
        (code, adder) -> values.put("produce_refused_" + lower(code), adder.sum()));
    refusedFetches.forEach(
        (code, adder) -> values.put("fetch_refused_" + lower(code), adder.sum()));
    return Collections.unmodifiableMap(values);
  }

  private static String lower(Enum<?> name) {
    return name.name().toLowerCase(Locale.ROOT);
  }
}
