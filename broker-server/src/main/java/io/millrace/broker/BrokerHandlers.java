package io.millrace.broker;

import io.millrace.broker.api.AlterTopicHandler;
import io.millrace.broker.api.BrokerStatusHandler;
import io.millrace.broker.api.CreateTopicHandler;
import io.millrace.broker.api.DeleteRecordsHandler;
import io.millrace.broker.api.DeleteTopicHandler;
import io.millrace.broker.api.DistinctErrors;
import io.millrace.broker.api.FetchHandler;
import io.millrace.broker.api.Handlers;
import io.millrace.broker.api.HelloHandler;
import io.millrace.broker.api.InitProducerIdHandler;
import io.millrace.broker.api.LeaderAnnouncementHandler;
import io.millrace.broker.api.ListOffsetsHandler;
import io.millrace.broker.api.MetadataCommandHandler;
import io.millrace.broker.api.MetadataHandler;
import io.millrace.broker.api.NetworkFaultsHandler;
import io.millrace.broker.api.PeerAuthenticator;
import io.millrace.broker.api.PeerHelloHandler;
import io.millrace.broker.api.PeerPingHandler;
import io.millrace.broker.api.PeerProofHandler;
import io.millrace.broker.api.ProduceHandler;
import io.millrace.broker.api.RaftHandler;
import io.millrace.broker.api.ReplicaCheckpointHandler;
import io.millrace.broker.api.ReplicaFetchHandler;
import io.millrace.broker.api.ReplicaStateHandler;
import io.millrace.broker.api.RequestLimits;
import io.millrace.broker.api.RequestRefusedException;
import io.millrace.broker.api.TransferLeaderHandler;
import io.millrace.broker.cluster.LeaderDirectory;
import io.millrace.broker.cluster.LeaderMover;
import io.millrace.broker.cluster.LocalBroker;
import io.millrace.broker.cluster.MetadataService;
import io.millrace.broker.cluster.ProducerIds;
import io.millrace.broker.log.DiskSpace;
import io.millrace.broker.partition.FetchCoordinator;
import io.millrace.broker.partition.PartitionLookup;
import io.millrace.broker.raft.refill.ReplicaSource;
import io.millrace.broker.raft.transport.PeerCredentials;
import io.millrace.broker.raft.transport.PeerRequests;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.message.PeerHelloRequest;
import io.netty.util.Timer;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;

/**
 * What the handlers of requests need, and the handlers themselves, one per kind.
 *
 * @param readers runs what reads files or takes locks
 * @param knownGroups groups that have a replica here
 * @param copies runs what reads whole logs for other brokers
 */
record BrokerHandlers(
    LocalBroker self,
    int maxFrameBytes,
    MetadataService metadata,
    DiskSpace diskSpace,
    BooleanSupplier metadataCaughtUp,
    LeaderDirectory leaders,
    PartitionLookup partitions,
    FetchCoordinator fetches,
    PeerRequests peerRequests,
    PeerPingHandler.Listener pings,
    LeaderMover mover,
    PeerCredentials credentials,
    KnownPeers knownPeers,
    PeerGreeting greeting,
    BrokerStatusHandler.Source status,
    NetworkFaultsHandler faults,
    Timer timer,
    Executor readers,
    ReplicaSource replicaSource,
    Predicate<String> knownGroups,
    Executor copies,
    DistinctErrors errors) {

  /** Is told where a broker listens, by the broker itself. */
  interface PeerGreeting {
    void peerSaid(int brokerId, String host, int port);
  }

  Handlers all() {
    RequestLimits limits = RequestLimits.DEFAULT;
    return new Handlers(
        List.of(
            new HelloHandler(self, maxFrameBytes, Broker.FEATURE_LEVEL, Broker.VERSION),
            new MetadataHandler(metadata, metadataCaughtUp, limits),
            new ProduceHandler(partitions, timer, limits, errors),
            new FetchHandler(fetches, partitions),
            new ListOffsetsHandler(partitions, readers, limits, errors),
            new InitProducerIdHandler(new ProducerIds(self.id(), metadata), errors),
            new CreateTopicHandler(metadata, diskSpace, errors),
            new DeleteTopicHandler(metadata, errors),
            new AlterTopicHandler(metadata, errors),
            new DeleteRecordsHandler(partitions, timer, limits, errors),
            new BrokerStatusHandler(self, Broker.VERSION, status, readers, errors),
            faults,
            new PeerHelloHandler(self, credentials),
            new PeerProofHandler(credentials, authenticator(), errors),
            new PeerPingHandler(pings),
            new RaftHandler(peerRequests),
            new MetadataCommandHandler(metadata, errors),
            new LeaderAnnouncementHandler(leaders),
            new TransferLeaderHandler(self.id(), mover, errors),
            new ReplicaStateHandler(replicaSource, knownGroups, copies, errors),
            new ReplicaFetchHandler(replicaSource, copies, errors),
            new ReplicaCheckpointHandler(replicaSource, copies, errors)));
  }

  private PeerAuthenticator authenticator() {
    return (PeerHelloRequest hello, String remote) -> {
      String refusal = knownPeers.refusal(hello.getBrokerId(), hello.getIncarnation());
      if (refusal != null) {
        throw new RequestRefusedException(ErrorCode.INCARNATION_MISMATCH, refusal);
      }
      greeting.peerSaid(hello.getBrokerId(), hello.getHost(), hello.getPort());
    };
  }
}
