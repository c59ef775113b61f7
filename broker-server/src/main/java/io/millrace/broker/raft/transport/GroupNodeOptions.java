package io.millrace.broker.raft.transport;

import com.alipay.sofa.jraft.entity.PeerId;
import com.alipay.sofa.jraft.option.NodeOptions;
import java.util.Collection;
import java.util.function.Supplier;

/**
 * Node options that carry the broker's own parts to the RPC client of a group: JRaft creates that
 * client through a factory which is one per process, while one process can hold several brokers.
 */
public final class GroupNodeOptions extends NodeOptions {

  private final String groupId;
  private final PeerNetwork network;
  private final Supplier<Collection<PeerId>> peers;

  public GroupNodeOptions(String groupId, PeerNetwork network, Supplier<Collection<PeerId>> peers) {
    this.groupId = groupId;
    this.network = network;
    this.peers = peers;
  }

  String groupId() {
    return groupId;
  }

  PeerNetwork network() {
    return network;
  }

  Supplier<Collection<PeerId>> peers() {
    return peers;
  }
}
