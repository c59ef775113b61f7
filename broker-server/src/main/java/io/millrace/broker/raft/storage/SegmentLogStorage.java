package io.millrace.broker.raft.storage;

import com.alipay.sofa.jraft.entity.EnumOutter.EntryType;
import com.alipay.sofa.jraft.entity.LogEntry;
import com.alipay.sofa.jraft.option.LogStorageOptions;
import com.alipay.sofa.jraft.storage.LogStorage;
import com.google.protobuf.InvalidProtocolBufferException;
import io.millrace.broker.log.PartitionLog;
import io.millrace.broker.raft.message.Checkpoint;
import io.millrace.broker.raft.message.ConfigurationAt;
import io.millrace.protocol.batch.ControlBatch;
import io.millrace.protocol.batch.ControlType;
import io.millrace.protocol.batch.InvalidBatchException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * JRaft's log, kept in the partition's segments: the stored batches are the Raft entries.
 *
 * <p>Threads: appends, truncation and reset come from JRaft's log thread of the group, the only
 * writer of its segments; reads come from many threads, also while it writes.
 *
 * <p>Durability: {@link #appendEntries} returns after the topic's fsync policy is satisfied; JRaft
 * counts this replica's acknowledgement right after.
 *
 * <p>Errors: never thrown into JRaft, which would lose closures; answered as "nothing stored" or
 * "no such entry", which stops the node, and reported to the replica with their cause.
 */
public final class SegmentLogStorage implements LogStorage {

  private static final Logger LOG = LoggerFactory.getLogger(SegmentLogStorage.class);

  private final String group;
  private final PartitionLog log;
  private final Checkpoint checkpoint;
  private final GroupConfigurations configurations;
  private final Runnable onWritten;
  private final Consumer<Exception> onFailure;

  /** JRaft asks for no entry below any more, except where it had just looked at its bounds. */
  private volatile long firstIndexOfRaft;

  private volatile Runnable onPrefix = () -> {};

  /**
   * @param checkpoint what the replica starts from, null = from the log's first entry
   * @param onWritten called after each append, on the log thread
   * @param onFailure told of the first cause of every failed read or write; any thread
   */
  public SegmentLogStorage(
      String group,
      PartitionLog log,
      Checkpoint checkpoint,
      GroupConfigurations configurations,
      Runnable onWritten,
      Consumer<Exception> onFailure) {
    this.group = group;
    this.log = log;
    this.checkpoint = checkpoint;
    this.configurations = configurations;
    this.onWritten = onWritten;
    this.onFailure = onFailure;
  }

  /**
   * Reads the configuration entries that the log holds beyond the checkpoint. Done before the node
   * starts, because JRaft hangs in its own shutdown when a storage fails to initialise.
   */
  public void load() throws IOException {
    long replayFrom = log.firstIndex();
    if (checkpoint != null) {
      checkpoint.getConfigurationsList().forEach(configurations::add);
      replayFrom = checkpoint.getIndex() + 1;
    }
    log.forEachControl(replayFrom, this::addIfConfiguration);
    firstIndexOfRaft = log.firstIndex();
  }

  /** Told on the log thread whenever {@link #firstIndexOfRaft} has moved. */
  public void onPrefix(Runnable listener) {
    onPrefix = listener;
  }

  public long firstIndexOfRaft() {
    return firstIndexOfRaft;
  }

  @Override
  public boolean init(LogStorageOptions options) {
    for (ConfigurationAt at : configurations.after(0)) {
      options.getConfigurationManager().add(GroupConfigurations.toJRaft(at));
    }
    return true;
  }

  private void addIfConfiguration(long index, long term, ByteBuffer batch) {
    try {
      if (ControlBatch.decode(batch).type() == ControlType.CONF) {
        configurations.add(GroupConfigurations.fromBatch(index, term, batch));
      }
    } catch (InvalidBatchException | InvalidProtocolBufferException e) {
      throw new IllegalStateException("entry " + index + " cannot be decoded", e);
    }
  }

  @Override
  public void shutdown() {
    // The replica closes the log after the node has ended, because reads can still come here.
  }

  @Override
  public long getFirstLogIndex() {
    return log.firstIndex();
  }

  @Override
  public long getLastLogIndex() {
    return log.lastIndex();
  }

  /** Also finds what is dropped and not deleted: the caller may have looked at old bounds. */
  @Override
  public LogEntry getEntry(long index) {
    // Before the term: a configuration is forgotten only when its entry cannot be found any more.
    ConfigurationAt configuration = configurations.at(index);
    long term = getTerm(index);
    return term == 0 ? null : new StoredEntry(this, index, term, configuration);
  }

  @Override
  public long getTerm(long index) {
    long term = log.termAt(index);
    if (term == 0) {
      term = log.prefix().termOfDropped(index);
    }
    if (term == 0 && checkpoint != null && checkpoint.getIndex() == index) {
      // All entries up to the checkpoint are gone, and JRaft asks for the term of the last one.
      term = checkpoint.getTerm();
    }
    return term;
  }

  /** The batch of a data entry, or null if it is gone or after a failure that was reported. */
  ByteBuffer readData(long index) {
    try {
      ByteBuffer batch = log.read(index);
      if (batch == null) {
        batch = log.prefix().readDropped(index);
      }
      if (batch == null && !log.isClosed()) {
        // Its replicator would never go on; a replica that starts again knows the new bounds.
        onFailure.accept(new IOException("entry " + index + " left the log while it was read"));
      }
      return batch;
    } catch (IOException | RuntimeException e) {
      onFailure.accept(e);
      return null;
    }
  }

  @Override
  public boolean appendEntry(LogEntry entry) {
    return appendEntries(List.of(entry)) == 1;
  }

  @Override
  public int appendEntries(List<LogEntry> entries) {
    List<io.millrace.broker.log.LogEntry> batches = new ArrayList<>(entries.size());
    for (LogEntry entry : entries) {
      batches.add(
          new io.millrace.broker.log.LogEntry(
              entry.getId().getIndex(), entry.getId().getTerm(), batchOf(entry)));
    }
    // Before the entries can be seen: a checkpoint behind them has to name these members.
    for (LogEntry entry : entries) {
      if (entry.getType() == EntryType.ENTRY_TYPE_CONFIGURATION) {
        configurations.add(GroupConfigurations.at(entry));
      }
    }
    try {
      log.append(batches);
    } catch (IOException | RuntimeException e) {
      onFailure.accept(e);
      return 0;
    }
    onWritten.run();
    return entries.size();
  }

  private static ByteBuffer batchOf(LogEntry entry) {
    return switch (entry.getType()) {
      // The same buffer is read by replicators at the same time: never move its position.
      case ENTRY_TYPE_DATA -> entry.getData().duplicate();
      case ENTRY_TYPE_CONFIGURATION -> GroupConfigurations.toBatch(entry);
      default ->
          throw new IllegalStateException(
              "entry " + entry.getId() + " has type " + entry.getType());
    };
  }

  /** Deletes nothing: JRaft has moved its own first index, and retention decides about files. */
  @Override
  public boolean truncatePrefix(long firstIndexKept) {
    firstIndexOfRaft = Math.max(firstIndexOfRaft, firstIndexKept);
    onPrefix.run();
    return true;
  }

  @Override
  public boolean truncateSuffix(long lastIndexKept) {
    try {
      LOG.info("{}: cutting the log from {} back to {}", group, log.lastIndex(), lastIndexKept);
      log.truncateSuffix(lastIndexKept);
      configurations.truncateSuffix(lastIndexKept);
      return true;
    } catch (IOException | RuntimeException e) {
      onFailure.accept(e);
      return false;
    }
  }

  /**
   * Refused: JRaft drops a whole log only when a snapshot contradicts it, which here is damage to
   * be looked at and never to be resolved by deleting.
   */
  @Override
  public boolean reset(long nextLogIndex) {
    onFailure.accept(
        new IllegalStateException(
            "a reset of the log to index " + nextLogIndex + " was asked for and refused"));
    return false;
  }
}
