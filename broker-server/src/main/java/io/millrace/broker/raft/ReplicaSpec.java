package io.millrace.broker.raft;

import com.alipay.sofa.jraft.entity.PeerId;
import io.millrace.broker.log.LogConfig;
import io.millrace.broker.log.LogIdentity;
import java.nio.file.Path;
import java.util.List;

/**
 * One replica that this broker shall run.
 *
 * @param name of the group in status and logs
 * @param groupId of the group inside JRaft, unique over all clusters that share a JVM
 * @param directory of its log and checkpoints; must exist
 * @param self this replica
 * @param members the voters of a new group, this one among them; only used while the log is empty
 */
public record ReplicaSpec(
    String name,
    String groupId,
    Path directory,
    LogIdentity identity,
    LogConfig logConfig,
    PeerId self,
    List<PeerId> members) {

  public ReplicaSpec {
    members = List.copyOf(members);
    if (!members.contains(self)) {
      throw new IllegalArgumentException(
          "replica " + self + " is not among the members " + members + " of group " + name);
    }
  }
}
