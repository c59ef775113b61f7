package io.millrace.broker.partition;

import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.message.ErrorInfo;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * The proposals of one partition that are not settled, and how many more there may be. The limits
 * keep raft from ever rejecting one proposal and taking the next.
 *
 * <p>Owns: the partition's share of the broker's append budget.
 *
 * <p>Threads: guarded by the sequencer's state lock.
 */
final class InFlight {

  private final PartitionId id;
  private final PartitionSettings settings;
  private final AppendBudget budget;
  private final Set<Proposal> proposals = new HashSet<>();
  private long bytes;

  InFlight(PartitionId id, PartitionSettings settings, AppendBudget budget) {
    this.id = id;
    this.settings = settings;
    this.budget = budget;
  }

  /**
   * Takes the bytes of a batch, or says why not. One batch is always let in. Leaves room for the
   * entries that may go in front of it.
   */
  ErrorInfo admit(int batchBytes) {
    boolean bytesFit = bytes == 0 || bytes + batchBytes <= settings.maxPendingBytes();
    boolean entriesFit =
        proposals.size() + PartitionSettings.MIN_PENDING_ENTRIES <= settings.maxPendingEntries();
    if (!bytesFit || !entriesFit) {
      return throttled(
          batchBytes,
          bytes
              + " of "
              + settings.maxPendingBytes()
              + " bytes and "
              + proposals.size()
              + " of "
              + settings.maxPendingEntries()
              + " entries of this partition");
    }
    // Without bytes it is a move of the log start, which makes room.
    String disk = batchBytes == 0 ? null : budget.diskRefusal(batchBytes);
    if (disk != null) {
      return ErrorCode.DISK_FULL.toInfo(id + ": the disk of its leader is nearly full: " + disk);
    }
    return budget.tryAcquire(batchBytes)
        ? null
        : throttled(
            batchBytes,
            budget.usedBytes() + " of " + budget.limitBytes() + " bytes of this broker");
  }

  private ErrorInfo throttled(int batchBytes, String used) {
    return ErrorCode.THROTTLED.toInfo(
        id
            + ": batch of "
            + batchBytes
            + " bytes does not fit, "
            + used
            + " wait for a majority; send again later");
  }

  /** After {@link #admit}. */
  void add(Collection<Proposal> started) {
    proposals.addAll(started);
    for (Proposal proposal : started) {
      bytes += proposal.chargedBytes();
    }
  }

  /** False when it was settled before. */
  boolean settle(Proposal proposal) {
    if (!proposal.settle()) {
      return false;
    }
    proposals.remove(proposal);
    bytes -= proposal.chargedBytes();
    budget.release(proposal.chargedBytes());
    return true;
  }

  boolean contains(Proposal proposal) {
    return proposals.contains(proposal);
  }

  boolean isEmpty() {
    return proposals.isEmpty();
  }

  List<Proposal> all() {
    return List.copyOf(proposals);
  }

  int entries() {
    return proposals.size();
  }

  long bytes() {
    return bytes;
  }
}
