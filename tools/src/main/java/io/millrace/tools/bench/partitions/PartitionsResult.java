package io.millrace.tools.bench.partitions;

import java.util.List;
import java.util.Map;

/**
 * What {@link PartitionsBench} found. All times count from the beginning of their part.
 *
 * @param createReturnedNanos until the last creation returned
 * @param allLedNanos until the metadata named a leader for each
 * @param acked one record on each; counted from the beginning of the creation by the report
 * @param idle of each broker
 * @param kill null without one
 */
record PartitionsResult(
    int partitions,
    int topics,
    int replicas,
    long createReturnedNanos,
    long allLedNanos,
    AckEach.Result acked,
    long ackedNanos,
    Map<Integer, BrokerSample.Usage> idle,
    Kill kill) {
  /**
   * After SIGKILL of a broker.
   *
   * @param affected partitions that it led
   * @param ledNanos when each of these had another leader
   * @param unled how many had none when the time was over
   * @param ackedNanos from the kill until a record was acknowledged on each partition
   * @param syncNanos from the start of the broker until all replicas were in sync
   */
  record Kill(
      int broker,
      boolean metadataLeader,
      int affected,
      List<Long> ledNanos,
      int unled,
      AckEach.Result acked,
      long ackedNanos,
      long syncNanos) {}

  boolean good() {
    return acked.all() && (kill == null || kill.unled() == 0 && kill.acked().all());
  }
}
