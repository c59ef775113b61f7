package io.millrace.broker.cluster;

import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.message.BrokerInfo;
import io.millrace.protocol.message.MetadataRequest;
import io.millrace.protocol.message.MetadataResponse;
import io.millrace.protocol.message.PartitionInfo;
import io.millrace.protocol.message.ReplicaInfo;
import io.millrace.protocol.message.ResponseContext;
import io.millrace.protocol.message.TopicInfo;
import java.util.function.IntPredicate;

/** Answers metadata requests from local knowledge. Threads: any. */
final class MetadataDescriber {

  private final LocalBroker self;
  private final MetadataGroup group;
  private final LeaderDirectory leaders;
  private final IntPredicate reachable;

  MetadataDescriber(
      LocalBroker self, MetadataGroup group, LeaderDirectory leaders, IntPredicate reachable) {
    this.self = self;
    this.group = group;
    this.leaders = leaders;
    this.reachable = reachable;
  }

  MetadataResponse describe(MetadataRequest request) {
    MetadataState state = group.state();
    MetadataResponse.Builder response =
        MetadataResponse.newBuilder()
            .setClusterId(self.clusterId())
            .setAnsweringBroker(self.id())
            .setMetadataLeader(group.isReady() ? self.id() : group.leader());
    ResponseContext.Builder context = ResponseContext.newBuilder().setMetadataIndex(state.index());
    long seen = request.getContext().getMetadataIndex();
    if (seen > state.index()) {
      context.setError(
          ErrorCode.NOT_READY.toInfo(
              "broker "
                  + self.id()
                  + " knows the metadata up to index "
                  + state.index()
                  + ", you have seen "
                  + seen
                  + ": ask another broker, or again after a moment"));
      return response.setContext(context).build();
    }
    response.setContext(context);
    state.brokers().forEach(broker -> response.addBrokers(describe(broker)));
    if (request.getBrokersOnly()) {
      return response.build();
    }
    if (request.getTopicsCount() == 0) {
      state.topics().forEach(topic -> response.addTopics(describe(topic)));
    }
    for (String name : request.getTopicsList()) {
      TopicEntry topic = state.topic(name);
      response.addTopics(topic == null ? unknown(name) : describe(topic));
    }
    return response.build();
  }

  private BrokerInfo describe(BrokerEntry broker) {
    return BrokerInfo.newBuilder()
        .setId(broker.id())
        .setHost(broker.host())
        .setPort(broker.port())
        .setIncarnation(broker.incarnation().toString())
        .setReachable(broker.id() == self.id() || reachable.test(broker.id()))
        .build();
  }

  private static TopicInfo unknown(String name) {
    return TopicInfo.newBuilder()
        .setName(name)
        .setError(ErrorCode.UNKNOWN_TOPIC.toInfo(MetadataTransitions.unknownText(name)))
        .build();
  }

  TopicInfo describe(TopicEntry topic) {
    TopicInfo.Builder info =
        TopicInfo.newBuilder()
            .setName(topic.name())
            .setId(Uuids.toBytes(topic.id()))
            .setSettings(topic.settings())
            .setDurability(Durability.describe(topic.settings()));
    for (int p = 0; p < topic.partitions().size(); p++) {
      LeaderDirectory.Leader leader = leaders.leader(topic.id(), p);
      PartitionInfo.Builder partition =
          PartitionInfo.newBuilder()
              .setPartition(p)
              .setLeader(leader.broker())
              .setTerm(leader.term());
      for (ReplicaEntry replica : topic.partitions().get(p).replicas()) {
        partition.addReplicas(
            ReplicaInfo.newBuilder()
                .setBroker(replica.broker())
                .setIdx(replica.idx())
                .setIncarnation(replica.incarnation().toString())
                .setStarted(replica.started()));
      }
      info.addPartitions(partition);
    }
    return info.build();
  }
}
