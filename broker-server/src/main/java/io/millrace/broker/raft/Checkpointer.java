package io.millrace.broker.raft;

import com.google.protobuf.ByteString;
import io.millrace.broker.log.DiskSpace;
import io.millrace.broker.log.PartitionLog;
import io.millrace.broker.raft.message.Checkpoint;
import io.millrace.broker.raft.storage.CheckpointStore;
import io.millrace.broker.raft.storage.GroupConfigurations;
import java.io.IOException;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Decides when a replica writes a checkpoint, and writes it.
 *
 * <p>Threads: the group's FSM thread, between two runs of entries.
 *
 * <p>Durability: the log is fdatasynced up to the checkpoint's index first, under every fsync
 * policy, so that a checkpoint beyond the log can only mean damage.
 */
final class Checkpointer {

  private static final Logger LOG = LoggerFactory.getLogger(Checkpointer.class);

  private final String group;
  private final PartitionLog log;
  private final CheckpointStore store;
  private final GroupConfigurations configurations;
  private final RaftSettings settings;
  private final DiskSpace diskSpace;
  private final Supplier<ByteString> image;
  private final LongSupplier clockMillis;
  private final Consumer<Exception> onFailure;
  private long lastIndex;
  private long lastMillis;
  private long bytesSince;
  private boolean stopped;

  Checkpointer(
      String group,
      PartitionLog log,
      CheckpointStore store,
      GroupConfigurations configurations,
      RaftSettings settings,
      long restoredIndex,
      DiskSpace diskSpace,
      Supplier<ByteString> image,
      LongSupplier clockMillis,
      Consumer<Exception> onFailure) {
    this.group = group;
    this.log = log;
    this.store = store;
    this.configurations = configurations;
    this.settings = settings;
    this.diskSpace = diskSpace;
    this.image = image;
    this.clockMillis = clockMillis;
    this.onFailure = onFailure;
    this.lastIndex = restoredIndex;
    this.lastMillis = clockMillis.getAsLong();
  }

  /** A run of entries was applied; writes a checkpoint if it is time. */
  void applied(long index, long term, long bytes) {
    bytesSince += bytes;
    if (bytesSince >= settings.checkpointBytes()
        || clockMillis.getAsLong() - lastMillis >= settings.checkpointMillis()) {
      write(index, term);
    }
  }

  /**
   * Sees to it that there is a checkpoint at or above an index, at most the one applied last.
   *
   * @return false if there cannot be one yet, or no more
   */
  boolean reach(long index, long appliedIndex, long appliedTerm) {
    if (store.newestIndex() < index) {
      // Whatever the disk: this is what makes room.
      writeNow(appliedIndex, appliedTerm);
    }
    return !stopped && store.newestIndex() >= index;
  }

  /** No checkpoint may be written any more. */
  void stop() {
    stopped = true;
  }

  /** The replica ends: what was applied since the last checkpoint need not be replayed. */
  void shutdown(long index, long term) {
    write(index, term);
  }

  private void write(long index, long term) {
    if (diskSpace.level() == DiskSpace.Level.CRITICAL) {
      return; // The next start reads more of the log instead; what is left is for making room.
    }
    writeNow(index, term);
  }

  private void writeNow(long index, long term) {
    // A majority can commit an entry that this replica's own log thread has not written yet; then
    // the next run of entries is soon enough.
    if (stopped || index <= lastIndex || log.lastIndex() < index || log.termAt(index) != term) {
      return;
    }
    try {
      log.sync();
      store.write(
          Checkpoint.newBuilder()
              .setIndex(index)
              .setTerm(term)
              .addAllConfigurations(configurations.upTo(index))
              .setState(image.get())
              .build());
      lastIndex = index;
      lastMillis = clockMillis.getAsLong();
      bytesSince = 0;
      LOG.debug("{}: checkpoint at {}", group, index);
    } catch (IOException | RuntimeException e) {
      stopped = true;
      onFailure.accept(e);
    }
  }
}
