package io.millrace.broker.raft;

import com.alipay.sofa.jraft.JRaftServiceFactory;
import com.alipay.sofa.jraft.entity.codec.LogEntryCodecFactory;
import com.alipay.sofa.jraft.entity.codec.v2.LogEntryV2CodecFactory;
import com.alipay.sofa.jraft.option.NodeOptions;
import com.alipay.sofa.jraft.option.RaftOptions;
import com.alipay.sofa.jraft.storage.LogStorage;
import com.alipay.sofa.jraft.storage.RaftMetaStorage;
import com.alipay.sofa.jraft.storage.SnapshotStorage;

/** Hands the storages of one replica to its node. */
record ReplicaStorages(LogStorage log, SnapshotStorage snapshots, RaftMetaStorage votes)
    implements JRaftServiceFactory {

  @Override
  public LogStorage createLogStorage(String uri, RaftOptions options) {
    return log;
  }

  @Override
  public SnapshotStorage createSnapshotStorage(NodeOptions options) {
    return snapshots;
  }

  @Override
  public RaftMetaStorage createRaftMetaStorage(String uri, RaftOptions options) {
    return votes;
  }

  /** Not used: entries are stored as batches. */
  @Override
  public LogEntryCodecFactory createLogEntryCodecFactory() {
    return LogEntryV2CodecFactory.getInstance();
  }
}
