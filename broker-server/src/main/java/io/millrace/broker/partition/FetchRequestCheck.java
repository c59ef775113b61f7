package io.millrace.broker.partition;

import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.message.ErrorInfo;
import io.millrace.protocol.message.FetchPartition;
import io.millrace.protocol.message.FetchRequest;
import io.millrace.protocol.message.Isolation;
import java.util.LinkedHashMap;
import java.util.Map;

/** What a fetch must fulfil as a whole before its partitions are looked at. Pure. */
final class FetchRequestCheck {

  private FetchRequestCheck() {}

  /** Why the request is refused, naming field, value and limit; null = it is not. */
  static ErrorInfo refusal(FetchRequest request, FetchLimits limits) {
    int count = request.getPartitionsCount();
    if (count == 0 || count > limits.maxPartitions()) {
      return malformed(
          "fetch of " + count + " partitions; it must be 1 to " + limits.maxPartitions());
    }
    Map<String, Long> numbers = new LinkedHashMap<>();
    numbers.put("max_bytes", (long) request.getMaxBytes());
    numbers.put("max_wait_millis", (long) request.getMaxWaitMillis());
    numbers.put("prefetch_records", request.getPrefetchRecords());
    numbers.put("prefetch_bytes", request.getPrefetchBytes());
    numbers.put("in_flight_records", request.getInFlightRecords());
    numbers.put("in_flight_bytes", request.getInFlightBytes());
    for (FetchPartition partition : request.getPartitionsList()) {
      numbers.merge("max_bytes of a partition", (long) partition.getMaxBytes(), Math::min);
      numbers.merge("prefetch_records of a partition", partition.getPrefetchRecords(), Math::min);
      numbers.merge("in_flight_records of a partition", partition.getInFlightRecords(), Math::min);
      if (partition.getClaimEpoch() != 0) {
        return malformed(
            "claim_epoch is " + partition.getClaimEpoch() + "; there are no claims yet");
      }
    }
    for (Map.Entry<String, Long> number : numbers.entrySet()) {
      if (number.getValue() < 0) {
        return malformed(number.getKey() + " is " + number.getValue() + "; it must be 0 or more");
      }
    }
    // Answering as if these were honoured would be a promise that is not kept.
    if (request.getIsolation() != Isolation.READ_COMMITTED_ENTRIES) {
      return malformed(
          "isolation is " + request.getIsolation() + "; there are no transactions yet");
    }
    if (!request.getGroup().isEmpty()) {
      return malformed("group is '" + request.getGroup() + "'; there are no groups yet");
    }
    return null;
  }

  private static ErrorInfo malformed(String text) {
    return ErrorCode.MALFORMED_REQUEST.toInfo(text);
  }
}
