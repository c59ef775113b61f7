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
 * Shows JRaft the replica's checkpoint as a snapshot, once, when the node starts. JRaft never
 * writes or copies one here: {@code Node.snapshot()} would truncate its view of the log, after
 * which a follower further behind could not catch up from it any more.
 */
public final class CheckpointSnapshotStorage implements SnapshotStorage {

  private final Checkpoint checkpoint;

  /**
   * @param checkpoint null = none yet
   */
  public CheckpointSnapshotStorage(Checkpoint checkpoint) {
    this.checkpoint = checkpoint;
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
  public SnapshotReader open() {
    return checkpoint == null ? null : new Reader(metaOf(checkpoint));
  }

  @Override
  public SnapshotWriter create() {
    return null;
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
    SnapshotMeta.Builder meta =
        SnapshotMeta.newBuilder()
            .setLastIncludedIndex(checkpoint.getIndex())
            .setLastIncludedTerm(checkpoint.getTerm());
    int count = checkpoint.getConfigurationsCount();
    if (count > 0) {
      GroupConfiguration last = checkpoint.getConfigurations(count - 1).getConfiguration();
      meta.addAllPeers(last.getPeersList())
          .addAllOldPeers(last.getOldPeersList())
          .addAllLearners(last.getLearnersList())
          .addAllOldLearners(last.getOldLearnersList());
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
      return null;
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
}
