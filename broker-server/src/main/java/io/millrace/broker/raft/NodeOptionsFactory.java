package io.millrace.broker.raft;

import com.alipay.sofa.jraft.option.ApplyTaskMode;
import com.alipay.sofa.jraft.option.RaftOptions;
import com.alipay.sofa.jraft.option.ReadOnlyOption;
import io.millrace.broker.raft.transport.GroupNodeOptions;

/**
 * Every option of JRaft, in one place, each with its reason. A test fails when JRaft grows an
 * option that is not decided here.
 */
final class NodeOptionsFactory {

  /**
   * A follower asks for an election after this time plus up to {@link #MAX_ELECTION_DELAY_MILLIS}.
   */
  static final int MAX_ELECTION_DELAY_MILLIS = 300;

  /** Instead of it while the failure detector hurries an election; ranks keep votes apart then. */
  static final int HURRIED_ELECTION_DELAY_MILLIS = 20;

  /**
   * Heartbeats per election timeout. The timeout is the fallback for what nothing faster notices,
   * so five are enough: a follower misses four before it asks for an election, and a leader's lease
   * of four fifths of the timeout is renewed three times before it ends.
   */
  private static final int HEARTBEAT_FACTOR = 5;

  private static final int MIB = 1024 * 1024;

  private NodeOptionsFactory() {}

  /** Sets everything but what belongs to one group: storages, state machine, configuration. */
  static void apply(GroupNodeOptions options, RaftSettings settings) {
    options.setElectionTimeoutMs(settings.electionTimeoutMillis());
    // Priorities delay a failover by one or two timeouts while they decay; leaders are balanced by
    // transfer instead.
    options.setElectionPriority(-1);
    options.setDecayPriorityGap(10);
    // A lease shorter than the election timeout absorbs clock drift.
    options.setLeaderLeaseTimeRatio(80);
    // Checkpoints are ours; JRaft's own snapshots would truncate its view of the log.
    options.setSnapshotIntervalSecs(0);
    options.setSnapshotLogIndexMargin(0);
    options.setSnapshotTempUri(null);
    options.setSnapshotThrottle(null);
    options.setFilterBeforeCopyRemote(false);
    // In entries, each of which is a batch of up to a mebibyte.
    options.setCatchupMargin(20);
    options.setDisableCli(true);
    options.setEnableMetrics(false);
    // RaftTimers has one timer for all groups, whatever these say.
    options.setSharedTimerPool(true);
    options.setSharedElectionTimer(true);
    options.setSharedVoteTimer(true);
    options.setSharedStepDownTimer(true);
    options.setSharedSnapshotTimer(true);
    options.setTimerPoolSize(4);
    // Neither is used: no JRaft server runs.
    options.setCliRpcThreadPoolSize(1);
    options.setRaftRpcThreadPoolSize(1);
    // A pool per group that nothing runs on, see PeerRpcClient; so it never starts a thread.
    options.setRpcProcessorThreadPoolSize(1);
    options.setEnableRpcChecksum(false);
    options.setEnableBoltReconnect(false);
    options.setRpcConnectTimeoutMs(300);
    options.setRpcDefaultTimeout(5000);
    options.setRpcInstallSnapshotTimeout(300_000);
    options.setMetricRegistry(null);
    // Never waits in the caller; admission control stays far below the ring's size.
    options.setApplyTaskMode(ApplyTaskMode.NonBlocking);
    options.setAppendEntriesExecutors(JRaftRuntime.appendEntriesExecutors());
    options.setRaftOptions(raftOptions());
  }

  private static RaftOptions raftOptions() {
    RaftOptions raft = new RaftOptions();
    // Not used: snapshots are never copied by JRaft.
    raft.setMaxByteCountPerRpc(128 * 1024);
    raft.setFileCheckHole(false);
    raft.setMaxEntriesSize(256);
    // One request holds this plus at most one more batch. Less with many groups: CatchUpMemory.
    raft.setMaxBodySize(CatchUpMemory.MOST_BODY_BYTES);
    // Everything that waits during one fdatasync goes into the next; the default of 256 KiB would
    // give every larger append its own.
    raft.setMaxAppendBufferSize(8 * MIB);
    raft.setMaxElectionDelayMs(MAX_ELECTION_DELAY_MILLIS);
    // The append budget bounds memory; a limit here would reject one batch and take a later one.
    raft.setMaxLogsInMemoryBytes(-1);
    raft.setElectionHeartbeatFactor(HEARTBEAT_FACTOR);
    raft.setApplyBatch(32);
    // Hints for the stock storages; ours follow the topic's policy, and always sync votes.
    raft.setSync(true);
    raft.setSyncMeta(true);
    raft.setOpenStatistics(false);
    raft.setReplicatorPipeline(true);
    raft.setMaxReplicatorInflightMsgs(CatchUpMemory.MOST_MESSAGES);
    // Entries in flight per group stay below Partition's limit of half of this.
    raft.setDisruptorBufferSize(1024);
    // Read by the wait strategy of the log's ring, which ours has no use for.
    raft.setDisruptorPublishEventWaitTimeoutSecs(60);
    // Batches carry their own CRC; JRaft's would cover header bytes that every replica patches.
    raft.setEnableLogEntryChecksum(false);
    raft.setReadOnlyOptions(ReadOnlyOption.ReadOnlySafe);
    raft.setMaxReadIndexLag(-1);
    raft.setStepDownWhenVoteTimedout(true);
    raft.setStartupOldStorage(false);
    return raft;
  }
}
