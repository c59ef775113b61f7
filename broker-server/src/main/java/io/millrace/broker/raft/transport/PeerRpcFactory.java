package io.millrace.broker.raft.transport;

import com.alipay.sofa.jraft.rpc.RaftRpcFactory;
import com.alipay.sofa.jraft.rpc.RpcClient;
import com.alipay.sofa.jraft.rpc.RpcServer;
import com.alipay.sofa.jraft.util.Endpoint;
import com.alipay.sofa.jraft.util.SPI;

/**
 * Puts the brokers' own connections in the place of JRaft's stock transport. Found by JRaft through
 * META-INF/services; the priority places it before the stock one, whose classes are not present.
 */
@SPI(name = "millrace", priority = 100)
public final class PeerRpcFactory implements RaftRpcFactory {

  @Override
  public void registerProtobufSerializer(String className, Object... args) {
    // RaftMessageType names what travels.
  }

  @Override
  public RpcClient createRpcClient(ConfigHelper<RpcClient> helper) {
    return new PeerRpcClient();
  }

  /** The broker's server receives for all groups; JRaft never opens one. */
  @Override
  public RpcServer createRpcServer(Endpoint endpoint, ConfigHelper<RpcServer> helper) {
    throw new UnsupportedOperationException(
        "the broker's own server receives Raft messages; none can be opened for " + endpoint);
  }
}
