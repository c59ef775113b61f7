package io.millrace.broker.raft.storage;

import com.alipay.sofa.jraft.entity.RaftOutter.SnapshotMeta;
import com.alipay.sofa.jraft.option.SnapshotCopierOptions;
import com.alipay.sofa.jraft.storage.SnapshotStorage;
import com.alipay.sofa.jraft.storage.SnapshotThrottle;
import com.alipay.sofa.jraft.storage.snapshot.SnapshotCopier;
import com.alipay.sofa.jraft.storage.snapshot.SnapshotReader;
import com.alipay.sofa.jraft.storage.snapshot.SnapshotWriter;
import com.google.protobuf.Message;
import io.millrace.broker.raft.message.Checkpoint;
import io.millrace.broker.raft.message.GroupConfiguration;
import java.util.Set;

/**
 * What JRaft takes for its snapshots. At start that is the replica's checkpoint. Later ones are
 * only an index with its term and members: saving one makes JRaft let go of the entries before the
 * one saved last, and that is their whole purpose; see {@code PrefixRelease}.
 *
 * <p>Durability: none of its own. After a restart JRaft is shown the checkpoint again, which is
 * newer than every index that was saved here, because the checkpoint is written first.
 *
 * <p>A leader opens the last one to tell a follower, which is further behind than JRaft's first
 * entry, from where on it can be served. No byte is ever copied from here.
 *
 * <p>Threads: any.
 */
public final class CheckpointSnapshotStorage implements SnapshotStorage {

  /** Names no place: followers fetch segments from the leader by themselves. */
  public static final String URI = "millrace:checkpoint";

  private volatile SnapshotMeta last;

  /**
   * @param checkpoint null = none yet
   */
  public CheckpointSnapshotStorage(Checkpoint checkpoint) {
    this.last = checkpoint == null ? null : metaOf(checkpoint);
  }

  /** Index that JRaft was shown or has saved last, 0 = none. */
  public long lastIndex() {
    SnapshotMeta meta = last;
    return meta == null ? 0 : meta.getLastIncludedIndex();
  }

  @Override
  public boolean init(Void none) {
    return true;
  }

  @Override
  public void shutdown() {
    // Owns nothing.
  }

  /** Null only as long as JRaft has every entry from the first one on, so no leader asks. */
  @Override
  public SnapshotReader open() {
    SnapshotMeta meta = last;
    return meta == null ? null : new Reader(meta);
  }

  @Override
  public SnapshotWriter create() {
    return new Writer();
  }

  @Override
  public SnapshotReader copyFrom(String uri, SnapshotCopierOptions options) {
    return null;
  }

  @Override
  public SnapshotCopier startToCopyFrom(String uri, SnapshotCopierOptions options) {
    return null;
  }

  @Override
  public boolean setFilterBeforeCopyRemote() {
    return true;
  }

  @Override
  public void setSnapshotThrottle(SnapshotThrottle throttle) {
    // Nothing is copied.
  }

  private static SnapshotMeta metaOf(Checkpoint checkpoint) {
    int count = checkpoint.getConfigurationsCount();
    return meta(
        checkpoint.getIndex(),
        checkpoint.getTerm(),
        count == 0 ? null : checkpoint.getConfigurations(count - 1).getConfiguration());
  }

  /**
   * @param members in force at the index, null = not known
   */
  public static SnapshotMeta meta(long index, long term, GroupConfiguration members) {
    SnapshotMeta.Builder meta =
        SnapshotMeta.newBuilder().setLastIncludedIndex(index).setLastIncludedTerm(term);
    if (members != null) {
      meta.addAllPeers(members.getPeersList())
          .addAllOldPeers(members.getOldPeersList())
          .addAllLearners(members.getLearnersList())
          .addAllOldLearners(members.getOldLearnersList());
    }
    return meta.build();
  }

  private static final class Reader extends SnapshotReader {

    private final SnapshotMeta meta;

    Reader(SnapshotMeta meta) {
      this.meta = meta;
    }

    @Override
    public boolean init(Void none) {
      return true;
    }

    @Override
    public void shutdown() {
      // Owns nothing.
    }

    @Override
    public SnapshotMeta load() {
      return meta;
    }

    @Override
    public String generateURIForCopy() {
      return URI;
    }

    @Override
    public String getPath() {
      return "";
    }

    @Override
    public Set<String> listFiles() {
      return Set.of();
    }

    @Override
    public Message getFileMeta(String fileName) {
      return null;
    }

    @Override
    public void close() {
      // Owns nothing.
    }
  }

  private final class Writer extends SnapshotWriter {

    @Override
    public boolean init(Void none) {
      return true;
    }

    @Override
    public void shutdown() {
      // Owns nothing.
    }

    @Override
    public boolean saveMeta(SnapshotMeta meta) {
      last = meta;
      return true;
    }

    @Override
    public boolean addFile(String fileName, Message fileMeta) {
      return false;
    }

    @Override
    public boolean removeFile(String fileName) {
      return false;
    }

    @Override
    public String getPath() {
      return "";
    }

    @Override
    public Set<String> listFiles() {
      return Set.of();
    }

    @Override
    public Message getFileMeta(String fileName) {
      return null;
    }

    @Override
    public void close() {
      // Owns nothing.
    }

    @Override
    public void close(boolean keepDataOnError) {
      // Owns nothing.
    }
  }
}
