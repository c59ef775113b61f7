package io.millrace.client.admin;

import com.google.protobuf.ByteString;
import com.google.protobuf.Message;
import io.millrace.client.Admin;
import io.millrace.client.Checks;
import io.millrace.client.ClusterDescription;
import io.millrace.client.FsyncPolicy;
import io.millrace.client.OffsetSpec;
import io.millrace.client.TopicChange;
import io.millrace.client.TopicDescription;
import io.millrace.client.TopicPartition;
import io.millrace.client.TopicSpec;
import io.millrace.client.error.InvalidArgumentException;
import io.millrace.client.error.UnknownTopicException;
import io.millrace.client.internal.ClientContext;
import io.millrace.client.metadata.MetadataCache;
import io.millrace.client.metadata.OffsetLookup;
import io.millrace.client.metadata.RecordDeletion;
import io.millrace.client.net.Answer;
import io.millrace.client.net.Api;
import io.millrace.client.net.BrokerAddress;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.error.MillraceException;
import io.millrace.protocol.message.AlterTopicRequest;
import io.millrace.protocol.message.BrokerStatusRequest;
import io.millrace.protocol.message.BrokerStatusResponse;
import io.millrace.protocol.message.CreateTopicRequest;
import io.millrace.protocol.message.DeleteTopicRequest;
import io.millrace.protocol.message.FaultsAction;
import io.millrace.protocol.message.MetadataRequest;
import io.millrace.protocol.message.MetadataResponse;
import io.millrace.protocol.message.NetworkFaultsRequest;
import io.millrace.protocol.message.NetworkFaultsResponse;
import io.millrace.protocol.message.PeerFaults;
import io.millrace.protocol.message.TopicChanges;
import io.millrace.protocol.message.TopicInfo;
import io.millrace.protocol.message.TopicSettings;
import io.netty.buffer.ByteBuf;
import java.nio.ByteBuffer;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Function;
import java.util.function.LongFunction;

/** The admin calls, each one request to any broker, to one broker, or to leaders. */
public final class AdminImpl implements Admin {

  private final ClientContext context;
  private final MetadataCache metadata;
  private final OffsetLookup offsets;
  private final RecordDeletion deletion;

  public AdminImpl(ClientContext context) {
    this.context = context;
    this.metadata = context.metadata();
    this.offsets = new OffsetLookup(context.config(), context.connections(), metadata);
    this.deletion = new RecordDeletion(context.config(), context.connections(), metadata);
  }

  @Override
  public CompletableFuture<TopicDescription> createTopic(TopicSpec spec) {
    Checks.notNull("spec", spec);
    TopicSettings.Builder settings =
        TopicSettings.newBuilder()
            .setPartitions(spec.partitions())
            .setReplicas(spec.replicas())
            .setFsyncIntervalMillis(spec.fsyncIntervalMillis())
            .setSegmentBytes(spec.segmentBytes())
            .setMaxRecordBytes(spec.maxRecordBytes())
            .setRetentionMillis(spec.retentionMillis())
            .setRetentionBytes(spec.retentionBytes())
            .setSegmentMillis(spec.segmentMillis());
    if (spec.fsync() != null) {
      settings.setFsync(spec.fsync().toWire());
    }
    return call(
        Api.CREATE_TOPIC,
        wait ->
            CreateTopicRequest.newBuilder()
                .setContext(metadata.context(wait))
                .setName(spec.name())
                .setSettings(settings)
                .build(),
        false,
        response -> {
          metadata.learned(response.getTopic(), response.getContext().getMetadataIndex());
          return describe(response.getTopic());
        });
  }

  @Override
  public CompletableFuture<Void> deleteTopic(String name) {
    Checks.topicName(name);
    return call(
        Api.DELETE_TOPIC,
        wait ->
            DeleteTopicRequest.newBuilder()
                .setContext(metadata.context(wait))
                .setName(name)
                .build(),
        false,
        response -> {
          metadata.sawIndex(response.getContext().getMetadataIndex());
          return null;
        });
  }

  @Override
  public CompletableFuture<TopicDescription> alterTopic(String name, TopicChange change) {
    Checks.topicName(name);
    Checks.notNull("change", change);
    TopicChanges.Builder changes = TopicChanges.newBuilder();
    if (change.retentionMillis() != null) {
      changes.setRetentionMillis(change.retentionMillis());
    }
    if (change.retentionBytes() != null) {
      changes.setRetentionBytes(change.retentionBytes());
    }
    if (change.segmentBytes() != null) {
      changes.setSegmentBytes(change.segmentBytes());
    }
    if (change.segmentMillis() != null) {
      changes.setSegmentMillis(change.segmentMillis());
    }
    return call(
        Api.ALTER_TOPIC,
        wait ->
            AlterTopicRequest.newBuilder()
                .setContext(metadata.context(wait))
                .setName(name)
                .setChanges(changes)
                .build(),
        true,
        response -> {
          metadata.learned(response.getTopic(), response.getContext().getMetadataIndex());
          return describe(response.getTopic());
        });
  }

  @Override
  public CompletableFuture<List<String>> listTopics() {
    return metadata(
        MetadataRequest.newBuilder(),
        response -> response.getTopicsList().stream().map(TopicInfo::getName).sorted().toList());
  }

  @Override
  public CompletableFuture<TopicDescription> describeTopic(String name) {
    Checks.topicName(name);
    return metadata(
        MetadataRequest.newBuilder().addTopics(name),
        response -> {
          for (TopicInfo topic : response.getTopicsList()) {
            if (topic.getName().equals(name)) {
              if (topic.getError().getCode() == 0) {
                return describe(topic);
              }
              if (topic.getError().getCode() != ErrorCode.UNKNOWN_TOPIC.number()) {
                throw MillraceException.of(topic.getError());
              }
            }
          }
          throw new UnknownTopicException(name, "topic '" + name + "' does not exist");
        });
  }

  @Override
  public CompletableFuture<ClusterDescription> describeCluster() {
    return metadata(
        MetadataRequest.newBuilder().setBrokersOnly(true),
        response ->
            new ClusterDescription(
                response.getClusterId(),
                response.getMetadataLeader(),
                response.getAnsweringBroker(),
                response.getContext().getMetadataIndex(),
                response.getBrokersList().stream()
                    .map(
                        b ->
                            new ClusterDescription.Broker(
                                b.getId(),
                                b.getHost(),
                                b.getPort(),
                                b.getIncarnation(),
                                b.getReachable()))
                    .toList()));
  }

  @Override
  public CompletableFuture<BrokerStatusResponse> brokerStatus(int brokerId) {
    return brokerStatus(brokerId, "");
  }

  @Override
  public CompletableFuture<BrokerStatusResponse> brokerStatus(int brokerId, String segmentsOf) {
    return askBroker(
        brokerId,
        Api.BROKER_STATUS,
        wait ->
            BrokerStatusRequest.newBuilder()
                .setContext(metadata.context(wait))
                .setSegmentsOf(segmentsOf)
                .build());
  }

  @Override
  public CompletableFuture<MetadataResponse> brokerMetadata(int brokerId) {
    return askBroker(
        brokerId,
        Api.METADATA,
        // Without what this client has seen: a broker that is behind would refuse.
        wait ->
            MetadataRequest.newBuilder()
                .setContext(metadata.context(wait).toBuilder().clearMetadataIndex())
                .build());
  }

  @Override
  public CompletableFuture<List<PeerFaults>> networkFaults(int brokerId) {
    return networkFaults(brokerId, NetworkFaultsRequest.newBuilder());
  }

  @Override
  public CompletableFuture<List<PeerFaults>> setNetworkFaults(
      int brokerId, Collection<PeerFaults> faults) {
    return networkFaults(
        brokerId,
        NetworkFaultsRequest.newBuilder()
            .setAction(FaultsAction.FAULTS_REPLACE)
            .addAllFaults(Checks.notNull("faults", faults)));
  }

  private CompletableFuture<List<PeerFaults>> networkFaults(
      int brokerId, NetworkFaultsRequest.Builder request) {
    return askBroker(
            brokerId,
            Api.NETWORK_FAULTS,
            wait -> request.setContext(metadata.context(wait)).build())
        .thenApply(NetworkFaultsResponse::getFaultsList);
  }

  /** Asks this very broker, whose address is looked up when it is not known. */
  private <R extends Message> CompletableFuture<R> askBroker(
      int brokerId, Api<R> api, LongFunction<? extends Message> request) {
    Checks.atLeast("brokerId", brokerId, 1);
    CompletableFuture<R> result = new CompletableFuture<>();
    BrokerAddress known = metadata.view().broker(brokerId);
    if (known != null) {
      ask(brokerId, known, api, request, result);
    } else {
      metadata
          .refresh()
          .whenComplete(
              (view, failure) -> {
                if (failure != null) {
                  complete(result, null, failure);
                } else if (view.broker(brokerId) == null) {
                  complete(
                      result,
                      null,
                      new InvalidArgumentException(
                          "no broker has id "
                              + brokerId
                              + "; known are "
                              + view.brokers().keySet().stream().sorted().toList()));
                } else {
                  ask(brokerId, view.broker(brokerId), api, request, result);
                }
              });
    }
    return result;
  }

  private <R extends Message> void ask(
      int brokerId,
      BrokerAddress address,
      Api<R> api,
      LongFunction<? extends Message> request,
      CompletableFuture<R> result) {
    int timeout = context.config().requestTimeoutMillis();
    context
        .connections()
        .send(
            address,
            brokerId,
            api,
            request.apply(timeout),
            null,
            timeout,
            new Answer<>() {
              @Override
              public void done(R response, ByteBuf payload) {
                complete(result, response, null);
              }

              @Override
              public void failed(MillraceException failure) {
                complete(result, null, failure);
              }
            });
  }

  @Override
  public CompletableFuture<Map<TopicPartition, OffsetAndTime>> listOffsets(
      Collection<TopicPartition> partitions, OffsetSpec spec) {
    Checks.notNull("spec", spec);
    Map<TopicPartition, OffsetSpec> wanted = new LinkedHashMap<>();
    Checks.notNull("partitions", partitions).forEach(tp -> wanted.put(tp, spec));
    CompletableFuture<Map<TopicPartition, OffsetAndTime>> result = new CompletableFuture<>();
    offsets
        .lookUp(wanted, context.config().requestTimeoutMillis())
        .whenComplete((found, failure) -> complete(result, found, failure));
    return result;
  }

  @Override
  public CompletableFuture<Long> deleteRecords(TopicPartition partition, long before) {
    Checks.notNull("partition", partition);
    Checks.atLeast("before", before, 0);
    CompletableFuture<Long> result = new CompletableFuture<>();
    deletion
        .delete(partition, before, context.config().requestTimeoutMillis())
        .whenComplete((logStart, failure) -> complete(result, logStart, failure));
    return result;
  }

  private <T> CompletableFuture<T> metadata(
      MetadataRequest.Builder request, Function<MetadataResponse, T> convert) {
    return call(
        Api.METADATA,
        wait -> request.clone().setContext(metadata.context(wait)).build(),
        true,
        convert);
  }

  private <R extends Message, T> CompletableFuture<T> call(
      Api<R> api,
      LongFunction<? extends Message> request,
      boolean idempotent,
      Function<R, T> convert) {
    CompletableFuture<T> result = new CompletableFuture<>();
    metadata
        .anyBroker()
        .call(api, request, context.config().requestTimeoutMillis(), idempotent)
        .thenApply(convert)
        .whenComplete((value, failure) -> complete(result, value, failure));
    return result;
  }

  private <T> void complete(CompletableFuture<T> result, T value, Throwable failure) {
    context
        .callbacks()
        .execute(
            () -> {
              if (failure == null) {
                result.complete(value);
              } else {
                result.completeExceptionally(unwrap(failure));
              }
            });
  }

  private static Throwable unwrap(Throwable failure) {
    return failure instanceof CompletionException && failure.getCause() != null
        ? failure.getCause()
        : failure;
  }

  private static TopicDescription describe(TopicInfo info) {
    TopicSettings settings = info.getSettings();
    return new TopicDescription(
        info.getName(),
        uuid(info.getId()),
        settings.getReplicas(),
        FsyncPolicy.of(settings.getFsync()),
        settings.getFsyncIntervalMillis(),
        settings.getSegmentBytes(),
        settings.getMaxRecordBytes(),
        settings.getRetentionMillis(),
        settings.getRetentionBytes(),
        settings.getSegmentMillis(),
        info.getDurability(),
        info.getPartitionsList().stream()
            .map(
                p ->
                    new TopicDescription.Partition(
                        p.getPartition(),
                        p.getLeader(),
                        p.getTerm(),
                        p.getReplicasList().stream()
                            .map(
                                r ->
                                    new TopicDescription.Replica(
                                        r.getBroker(),
                                        r.getIdx(),
                                        r.getIncarnation(),
                                        r.getStarted()))
                            .toList()))
            .toList());
  }

  private static UUID uuid(ByteString id) {
    if (id.size() != 2 * Long.BYTES) {
      return new UUID(0, 0);
    }
    ByteBuffer bytes = id.asReadOnlyByteBuffer();
    return new UUID(bytes.getLong(), bytes.getLong());
  }
}
