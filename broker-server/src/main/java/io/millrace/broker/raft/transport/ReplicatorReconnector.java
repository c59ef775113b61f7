package io.millrace.broker.raft.transport;

import com.alipay.sofa.jraft.ReplicatorGroup;
import com.alipay.sofa.jraft.entity.PeerId;
import com.alipay.sofa.jraft.rpc.RpcUtils;
import io.millrace.broker.raft.PeerIds;
import java.util.Collection;
import java.util.function.IntConsumer;
import java.util.function.Supplier;

/**
 * Starts a leader's replicators to a broker as soon as its connections are up again, instead of at
 * the next tick of the step-down timer.
 *
 * <p>Threads: called on an event loop; the work takes the node's lock and so runs in a pool.
 */
final class ReplicatorReconnector implements IntConsumer {

  private final ReplicatorGroup replicators;
  private final Supplier<Collection<PeerId>> peers;

  ReplicatorReconnector(ReplicatorGroup replicators, Supplier<Collection<PeerId>> peers) {
    this.replicators = replicators;
    this.peers = peers;
  }

  @Override
  public void accept(int brokerId) {
    RpcUtils.runInThread(
        () -> {
          for (PeerId peer : peers.get()) {
            if (PeerIds.brokerOf(peer) == brokerId) {
              replicators.checkReplicator(peer, true);
            }
          }
        });
  }
}
