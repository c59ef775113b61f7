package io.millrace.broker.raft.refill;

import io.millrace.broker.log.Disk;
import io.millrace.broker.log.EpochTable;
import io.millrace.broker.log.PartitionLog;
import io.millrace.broker.raft.message.Checkpoint;
import io.millrace.broker.raft.storage.CheckpointStore;
import io.millrace.protocol.message.ReplicaCheckpointRequest;
import io.millrace.protocol.message.ReplicaFetchRequest;
import io.millrace.protocol.message.ReplicaStateResponse;
import io.millrace.protocol.message.TermStart;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * The side of a refill that gives: a broker's logs as other brokers may copy them.
 *
 * <p>Threads: any; reads files. Every entry's checksum is verified before it leaves.
 */
public final class ReplicaSource {

  /** Bound of one answer, whatever is asked for; a single larger entry still goes. */
  private static final int MAX_BYTES = 4 << 20;

  /**
   * A log that can be read now.
   *
   * @param votes it takes part in Raft
   * @param whole nothing is known to be missing inside it
   * @param leadsInTerm 0 = it does not, or has not applied an entry of its term yet
   * @param lastIndex at a leader of the last proposed entry, written or not
   * @param onFailure told of an entry that cannot be read
   */
  public record Source(
      PartitionLog log,
      boolean votes,
      boolean whole,
      long term,
      long leadsInTerm,
      long lastIndex,
      Consumer<Exception> onFailure) {}

  /** Entries as they are stored; {@code changed}: this is no longer what the refill began with. */
  public record Entries(boolean changed, List<ByteBuffer> batches) {

    static final Entries CHANGED = new Entries(true, List.of());
  }

  /**
   * @param index 0 = there is no such checkpoint
   */
  public record CheckpointPart(long index, int totalBytes, ByteBuffer bytes) {

    static final CheckpointPart NONE = new CheckpointPart(0, 0, ByteBuffer.allocate(0));
  }

  private final Disk disk;
  private final Function<String, Source> sources;

  /**
   * @param sources the log of a group, null if it is not open
   */
  public ReplicaSource(Disk disk, Function<String, Source> sources) {
    this.disk = disk;
    this.sources = sources;
  }

  /** Null while the log is not open. */
  public ReplicaStateResponse state(String group) throws IOException {
    Source source = sources.apply(group);
    if (source == null) {
      return null;
    }
    PartitionLog log = source.log();
    // First what a leader has proposed: what it accepts from now on was not sent to the asker.
    long lastIndex = Math.max(source.lastIndex(), log.lastIndex());
    EpochTable terms = log.epochs();
    Checkpoint checkpoint = newestCheckpoint(log);
    long lastTerm = lastTerm(log, checkpoint);
    ReplicaStateResponse.Builder state =
        ReplicaStateResponse.newBuilder()
            .setPresent(true)
            .setVotes(source.votes())
            .setWhole(source.whole())
            .setTerm(source.term())
            .setLeads(
                source.leadsInTerm() != 0
                    && source.leadsInTerm() == source.term()
                    // Entries can be committed by the others before they are written here. From the
                    // first one of its term on, all that is not written yet is of this term too.
                    && source.leadsInTerm() == lastTerm)
            .setFirstIndex(log.firstIndex())
            .setFirstOffset(log.logStart())
            .setLastIndex(lastIndex)
            .setLastTerm(lastTerm);
    for (int i = 0; i < terms.size(); i++) {
      state.addTerms(
          TermStart.newBuilder().setTerm(terms.term(i)).setFirstIndex(terms.firstIndex(i)));
    }
    return state.setCheckpointIndex(checkpoint == null ? 0 : checkpoint.getIndex()).build();
  }

  /** Entries from an index on, or null while the log is not open. */
  public Entries entries(ReplicaFetchRequest request) throws IOException {
    Source source = sources.apply(request.getGroup());
    if (source == null) {
      return null;
    }
    PartitionLog log = source.log();
    long from = request.getFromIndex();
    boolean continues =
        request.getPreviousTerm() == 0
            ? from == log.firstIndex()
            : log.termAt(from - 1) == request.getPreviousTerm();
    if (source.leadsInTerm() != request.getLeaderTerm() || !continues) {
      return Entries.CHANGED;
    }
    List<ByteBuffer> batches = new ArrayList<>();
    int wanted = Math.max(1, Math.min(request.getMaxBytes(), MAX_BYTES));
    int bytes = 0;
    try {
      for (long index = from; index <= log.lastIndex() && bytes < wanted; index++) {
        ByteBuffer batch = log.read(index);
        if (batch == null || bytes > 0 && bytes + batch.remaining() > wanted) {
          break;
        }
        batches.add(batch);
        bytes += batch.remaining();
      }
    } catch (IOException | RuntimeException e) {
      source.onFailure().accept(e);
      throw e;
    }
    return new Entries(false, batches);
  }

  /** A part of the newest checkpoint; null while the log is not open. */
  public CheckpointPart checkpoint(ReplicaCheckpointRequest request) throws IOException {
    Source source = sources.apply(request.getGroup());
    if (source == null) {
      return null;
    }
    Checkpoint checkpoint = newestCheckpoint(source.log());
    if (checkpoint == null
        || request.getIndex() != 0 && request.getIndex() != checkpoint.getIndex()) {
      return CheckpointPart.NONE;
    }
    byte[] all = checkpoint.toByteArray();
    int from = Math.max(0, Math.min(request.getPosition(), all.length));
    int length =
        Math.min(all.length - from, Math.max(1, Math.min(request.getMaxBytes(), MAX_BYTES)));
    return new CheckpointPart(
        checkpoint.getIndex(), all.length, ByteBuffer.wrap(all, from, length));
  }

  private Checkpoint newestCheckpoint(PartitionLog log) throws IOException {
    for (Checkpoint each : CheckpointStore.open(disk, log.directory()).checkpoints()) {
      if (fits(each, log)) {
        return each;
      }
    }
    return null;
  }

  /** Its entry is in the log, or was the last one that left the begin of it. */
  static boolean fits(Checkpoint checkpoint, PartitionLog log) {
    return checkpoint.getIndex() == log.firstIndex() - 1
        || log.termAt(checkpoint.getIndex()) == checkpoint.getTerm();
  }

  /**
   * Of the last entry, also when it has left the log as the last one of all.
   *
   * @param newest that fits the log, null = none
   */
  static long lastTerm(PartitionLog log, Checkpoint newest) {
    long last = log.termAt(log.lastIndex());
    return last == 0 && newest != null && newest.getIndex() == log.lastIndex()
        ? newest.getTerm()
        : last;
  }
}
