package io.millrace.broker.raft;

import static org.assertj.core.api.Assertions.assertThat;

import com.alipay.sofa.jraft.option.NodeOptions;
import com.alipay.sofa.jraft.option.RaftOptions;
import com.alipay.sofa.jraft.option.RpcOptions;
import io.millrace.broker.raft.transport.GroupNodeOptions;
import java.lang.reflect.Method;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class NodeOptionsFactoryTest {

  /** Set for each replica, because they are its own parts. */
  private static final Set<String> PER_REPLICA =
      Set.of("ServiceFactory", "Fsm", "InitialConf", "LogUri", "RaftMetaUri", "SnapshotUri");

  private static final Set<String> NODE_OPTIONS =
      Set.of(
          "AppendEntriesExecutors",
          "ApplyTaskMode",
          "CatchupMargin",
          "CliRpcThreadPoolSize",
          "DecayPriorityGap",
          "DisableCli",
          "ElectionPriority",
          "ElectionTimeoutMs",
          "EnableBoltReconnect",
          "EnableMetrics",
          "EnableRpcChecksum",
          "FilterBeforeCopyRemote",
          "LeaderLeaseTimeRatio",
          "MetricRegistry",
          "RaftOptions",
          "RaftRpcThreadPoolSize",
          "RpcConnectTimeoutMs",
          "RpcDefaultTimeout",
          "RpcInstallSnapshotTimeout",
          "RpcProcessorThreadPoolSize",
          "SharedElectionTimer",
          "SharedSnapshotTimer",
          "SharedStepDownTimer",
          "SharedTimerPool",
          "SharedVoteTimer",
          "SnapshotIntervalSecs",
          "SnapshotLogIndexMargin",
          "SnapshotTempUri",
          "SnapshotThrottle",
          "TimerPoolSize");

  private static final Set<String> RAFT_OPTIONS =
      Set.of(
          "ApplyBatch",
          "DisruptorBufferSize",
          "DisruptorPublishEventWaitTimeoutSecs",
          "ElectionHeartbeatFactor",
          "EnableLogEntryChecksum",
          "FileCheckHole",
          "MaxAppendBufferSize",
          "MaxBodySize",
          "MaxByteCountPerRpc",
          "MaxElectionDelayMs",
          "MaxEntriesSize",
          "MaxLogsInMemoryBytes",
          "MaxReadIndexLag",
          "MaxReplicatorInflightMsgs",
          "OpenStatistics",
          "ReadOnlyOptions",
          "ReplicatorPipeline",
          "StartupOldStorage",
          "StepDownWhenVoteTimedout",
          "Sync",
          "SyncMeta");

  @Test
  void everyOptionOfJRaftIsDecidedHere() {
    Set<String> node = new TreeSet<>(setters(NodeOptions.class));
    node.addAll(setters(RpcOptions.class));
    node.removeAll(PER_REPLICA);
    assertThat(node).containsExactlyInAnyOrderElementsOf(NODE_OPTIONS);
    assertThat(setters(RaftOptions.class)).containsExactlyInAnyOrderElementsOf(RAFT_OPTIONS);
  }

  @Test
  void heartbeatsAndElectionFollowTheSetting() {
    GroupNodeOptions options = new GroupNodeOptions("g", null, List::of);
    NodeOptionsFactory.apply(options, new RaftSettings(2000, 1, 1, 1, 0, 1));
    assertThat(options.getElectionTimeoutMs()).isEqualTo(2000);
    assertThat(options.getRaftOptions().getElectionHeartbeatFactor()).isEqualTo(5);
    assertThat(options.getLeaderLeaseTimeoutMs()).isEqualTo(1600);
    assertThat(options.isDisableCli()).isTrue();
    assertThat(options.getRaftOptions().isSyncMeta()).isTrue();
  }

  private static Set<String> setters(Class<?> type) {
    Set<String> names = new TreeSet<>();
    Stream.of(type.getDeclaredMethods())
        .map(Method::getName)
        .filter(name -> name.startsWith("set"))
        .forEach(name -> names.add(name.substring(3)));
    return names;
  }
}
