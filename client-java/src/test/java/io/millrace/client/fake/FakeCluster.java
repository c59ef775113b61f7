package io.millrace.client.fake;

import com.google.protobuf.ByteString;
import com.google.protobuf.Message;
import io.millrace.protocol.batch.BatchHeader;
import io.millrace.protocol.batch.RecordView;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.frame.ApiKind;
import io.millrace.protocol.frame.Frame;
import io.millrace.protocol.frame.Frames;
import io.millrace.protocol.message.BrokerInfo;
import io.millrace.protocol.message.BrokerStatusResponse;
import io.millrace.protocol.message.CreateTopicRequest;
import io.millrace.protocol.message.CreateTopicResponse;
import io.millrace.protocol.message.DeleteTopicRequest;
import io.millrace.protocol.message.DeleteTopicResponse;
import io.millrace.protocol.message.ErrorInfo;
import io.millrace.protocol.message.FetchRequest;
import io.millrace.protocol.message.HelloResponse;
import io.millrace.protocol.message.InitProducerIdResponse;
import io.millrace.protocol.message.LeaderHint;
import io.millrace.protocol.message.ListOffsetsPartition;
import io.millrace.protocol.message.ListOffsetsRequest;
import io.millrace.protocol.message.ListOffsetsResponse;
import io.millrace.protocol.message.ListOffsetsResult;
import io.millrace.protocol.message.MetadataRequest;
import io.millrace.protocol.message.MetadataResponse;
import io.millrace.protocol.message.PartitionInfo;
import io.millrace.protocol.message.ProduceBatch;
import io.millrace.protocol.message.ProduceRequest;
import io.millrace.protocol.message.ProduceResponse;
import io.millrace.protocol.message.ProduceResult;
import io.millrace.protocol.message.ResponseContext;
import io.millrace.protocol.message.TopicInfo;
import io.millrace.protocol.message.TopicSettings;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/**
 * Brokers on real sockets that keep batches in memory and follow the design's rules for producers
 * and readers. What they do wrong is scripted.
 *
 * <p>Threads: one event loop; state is guarded by this object's lock, also for tests.
 */
public final class FakeCluster implements AutoCloseable {

  /** Decides what goes wrong; called under the lock, once per request. */
  public interface Script {
    Fault fault(FakeBroker broker, ApiKind kind, Message request);
  }

  /** One request as it came. */
  public record Seen(int broker, ApiKind kind, Message request) {}

  final MultiThreadIoEventLoopGroup loops =
      new MultiThreadIoEventLoopGroup(
          1, new DefaultThreadFactory("fake-broker", true), NioIoHandler.newFactory());
  final Map<Integer, FakeBroker> brokers = new LinkedHashMap<>();
  final Map<String, List<FakePartition>> topics = new LinkedHashMap<>();
  private final List<Seen> seen = Collections.synchronizedList(new ArrayList<>());
  private final FakeFetches fetches = new FakeFetches(this);
  private final List<Integer> sequences = new ArrayList<>();
  private long metadataIndex = 1;
  private long nextProducerId = 1;
  private volatile Script script = (broker, kind, request) -> Fault.NONE;
  private volatile boolean hints = true;
  private volatile String clusterId = "fake";
  private volatile int cutOff;

  public FakeCluster(int count) {
    for (int id = 1; id <= count; id++) {
      FakeBroker broker = new FakeBroker(id, this, loops);
      broker.start();
      brokers.put(id, broker);
    }
  }

  // -------------------------------------------------------------------------------- for tests

  public FakeBroker broker(int id) {
    return brokers.get(id);
  }

  public List<String> bootstrap() {
    return brokers.values().stream().map(FakeBroker::address).toList();
  }

  public void script(Script newScript) {
    script = newScript;
  }

  /** Whether NOT_LEADER names the leader. */
  public void hints(boolean on) {
    hints = on;
  }

  /** This broker answers, and does not know of any leader: the others do not reach it. */
  public void cutOff(int brokerId) {
    cutOff = brokerId;
  }

  public void clusterId(String id) {
    clusterId = id;
  }

  /** Base sequences of all batches as they came. */
  public synchronized List<Integer> sequences() {
    return List.copyOf(sequences);
  }

  public List<Seen> seen(ApiKind kind) {
    synchronized (seen) {
      return seen.stream().filter(s -> s.kind() == kind).collect(Collectors.toList());
    }
  }

  public void brokersDown() {
    brokers.values().forEach(FakeBroker::stop);
  }

  public void brokersUp() {
    brokers.values().forEach(FakeBroker::start);
  }

  public synchronized void createTopic(String name, int partitions) {
    createTopic(name, partitions, 1 << 20);
  }

  public synchronized void createTopic(String name, int partitions, int maxRecordBytes) {
    UUID id = UUID.randomUUID();
    ByteBuffer bytes = ByteBuffer.allocate(16);
    bytes.putLong(id.getMostSignificantBits()).putLong(id.getLeastSignificantBits()).flip();
    ByteString topicId = ByteString.copyFrom(bytes);
    List<FakePartition> list = new ArrayList<>();
    for (int p = 0; p < partitions; p++) {
      list.add(new FakePartition(name, topicId, p, maxRecordBytes, 1 + p % brokers.size()));
    }
    topics.put(name, list);
    metadataIndex++;
  }

  /** As a broker that is behind would show it: under the same metadata index. */
  public synchronized void deleteTopicQuietly(String name) {
    topics.remove(name);
  }

  public synchronized void deleteTopic(String name) {
    topics.remove(name);
    metadataIndex++;
  }

  public synchronized void metadataIndex(long index) {
    metadataIndex = index;
  }

  public synchronized FakePartition partition(String topic, int partition) {
    return topics.get(topic).get(partition);
  }

  /** 0 = no leader. */
  public synchronized void moveLeader(String topic, int partition, int broker) {
    FakePartition p = partition(topic, partition);
    p.leader = broker;
    p.term++;
    p.producers.newLeader();
  }

  public synchronized int leader(String topic, int partition) {
    return partition(topic, partition).leader;
  }

  public synchronized List<RecordView> records(String topic, int partition) {
    return partition(topic, partition).records();
  }

  public synchronized List<String> values(String topic, int partition) {
    return records(topic, partition).stream().map(r -> new String(r.value())).toList();
  }

  public synchronized void forgetProducers(String topic, int partition) {
    partition(topic, partition).producers.forgetAll();
  }

  /** Retention: everything below is gone. */
  public synchronized void deleteBelow(String topic, int partition, long offset) {
    FakePartition p = partition(topic, partition);
    p.logStart = offset;
    p.batches.removeIf(b -> FakePartition.nextOffset(b) <= offset);
  }

  /** An unsynced tail is lost and another leader takes over. */
  public synchronized void truncate(String topic, int partition, long end) {
    FakePartition p = partition(topic, partition);
    p.batches.removeIf(b -> BatchHeader.baseOffset(b, 0) >= end);
    p.end = end;
    p.term++;
  }

  public synchronized void readableEnd(String topic, int partition, long end) {
    partition(topic, partition).readableEnd = end;
  }

  public synchronized void corrupt(String topic, int partition, int batch) {
    ByteBuffer b = partition(topic, partition).batches.get(batch);
    int at = b.limit() - 1;
    byte good = b.get(at);
    b.put(at, (byte) (good ^ 0x55));
  }

  @Override
  public void close() {
    brokers.values().forEach(FakeBroker::stop);
    loops.shutdownGracefully(0, 2, TimeUnit.SECONDS).syncUninterruptibly();
  }

  // -------------------------------------------------------------------------------- requests

  synchronized void handle(FakeBroker broker, Channel channel, Frame frame) {
    ApiKind kind = frame.kind();
    int correlation = frame.correlation();
    Message request = frame.header(kind.request());
    if (kind == ApiKind.HELLO) {
      send(channel, kind, correlation, hello(broker), null);
      return;
    }
    seen.add(new Seen(broker.id, kind, request));
    ByteBuffer payload = ByteBuffer.allocate(frame.payload().readableBytes());
    frame.payload().readBytes(payload);
    payload.flip();
    if (kind == ApiKind.PRODUCE) {
      int at = 0;
      for (ProduceBatch batch : ((ProduceRequest) request).getBatchesList()) {
        sequences.add(payload.getInt(at + BatchHeader.BASE_SEQUENCE_OFFSET));
        at += batch.getSize();
      }
    }
    Fault fault = script.fault(broker, kind, request);
    Runnable apply = () -> apply(broker, channel, kind, correlation, request, payload, null);
    if (fault instanceof Fault.None) {
      apply.run();
    } else if (fault instanceof Fault.Refuse refuse) {
      refuse(channel, kind, correlation, refuse);
    } else if (fault instanceof Fault.RefuseEach each) {
      refuseEach(channel, kind, correlation, request, payload, each);
    } else if (fault instanceof Fault.ApplyAndSay say) {
      apply(broker, channel, kind, correlation, request, payload, say.error());
    } else if (fault instanceof Fault.Drop drop) {
      if (drop.afterApply()) {
        apply(broker, null, kind, correlation, request, payload, null);
      }
      channel.close();
    } else if (fault instanceof Fault.Silence silence) {
      if (silence.apply()) {
        apply(broker, null, kind, correlation, request, payload, null);
      }
    } else if (fault instanceof Fault.Delay delay) {
      delay(broker, channel, kind, correlation, request, payload, delay);
    }
  }

  private void delay(
      FakeBroker broker,
      Channel channel,
      ApiKind kind,
      int correlation,
      Message request,
      ByteBuffer payload,
      Fault.Delay delay) {
    if (delay.applyLate()) {
      later(
          delay.millis(), () -> apply(broker, channel, kind, correlation, request, payload, null));
    } else {
      ProduceResponse response = produce(broker, (ProduceRequest) request, payload, null);
      later(delay.millis(), () -> send(channel, kind, correlation, response, null));
    }
  }

  /** As a new leader of the same partitions. */
  public synchronized void forgetClosedLanes(String topic) {
    topics.get(topic).forEach(p -> p.producers.newLeader());
  }

  /** Runs under the lock, after that time. */
  public void later(long millis, Runnable action) {
    loops
        .next()
        .schedule(
            () -> {
              synchronized (this) {
                action.run();
              }
            },
            millis,
            TimeUnit.MILLISECONDS);
  }

  private void apply(
      FakeBroker broker,
      Channel channel,
      ApiKind kind,
      int correlation,
      Message request,
      ByteBuffer payload,
      ErrorInfo say) {
    switch (kind) {
      case METADATA ->
          send(channel, kind, correlation, metadata(broker, (MetadataRequest) request), null);
      case PRODUCE ->
          send(
              channel,
              kind,
              correlation,
              produce(broker, (ProduceRequest) request, payload, say),
              null);
      case FETCH -> fetches.fetch(broker, channel, correlation, (FetchRequest) request);
      case LIST_OFFSETS ->
          send(channel, kind, correlation, listOffsets(broker, (ListOffsetsRequest) request), null);
      case INIT_PRODUCER_ID ->
          send(
              channel,
              kind,
              correlation,
              InitProducerIdResponse.newBuilder()
                  .setContext(context())
                  .setProducerId(nextProducerId++)
                  .build(),
              null);
      case CREATE_TOPIC -> create(channel, correlation, (CreateTopicRequest) request);
      case DELETE_TOPIC -> {
        deleteTopic(((DeleteTopicRequest) request).getName());
        send(
            channel,
            kind,
            correlation,
            DeleteTopicResponse.newBuilder().setContext(context()).build(),
            null);
      }
      case BROKER_STATUS ->
          send(
              channel,
              kind,
              correlation,
              BrokerStatusResponse.newBuilder()
                  .setContext(context())
                  .setBrokerId(broker.id)
                  .build(),
              null);
      default -> throw new IllegalStateException("no fake for " + kind);
    }
  }

  ResponseContext context() {
    return ResponseContext.newBuilder().setMetadataIndex(metadataIndex).build();
  }

  private HelloResponse hello(FakeBroker broker) {
    return HelloResponse.newBuilder()
        .setContext(context())
        .setClusterId(clusterId)
        .setBrokerId(broker.id)
        .setMinVersion(1)
        .setMaxVersion(1)
        .setMaxFrameBytes(FakeBroker.MAX_FRAME_BYTES)
        .build();
  }

  private MetadataResponse metadata(FakeBroker asked, MetadataRequest request) {
    MetadataResponse.Builder response =
        MetadataResponse.newBuilder()
            .setContext(context())
            .setClusterId(clusterId)
            .setMetadataLeader(1)
            .setAnsweringBroker(asked.id);
    for (FakeBroker broker : brokers.values()) {
      response.addBrokers(
          BrokerInfo.newBuilder()
              .setId(broker.id)
              .setHost("127.0.0.1")
              .setPort(broker.port())
              .setReachable(true));
    }
    if (!request.getBrokersOnly()) {
      List<String> names =
          request.getTopicsCount() == 0 ? List.copyOf(topics.keySet()) : request.getTopicsList();
      names.forEach(name -> response.addTopics(topicInfo(name, asked.id != cutOff)));
    }
    return response.build();
  }

  private TopicInfo topicInfo(String name, boolean withLeaders) {
    List<FakePartition> partitions = topics.get(name);
    TopicInfo.Builder info = TopicInfo.newBuilder().setName(name);
    if (partitions == null) {
      return info.setError(ErrorCode.UNKNOWN_TOPIC.toInfo("no topic " + name)).build();
    }
    info.setId(partitions.get(0).topicId)
        .setSettings(
            TopicSettings.newBuilder()
                .setPartitions(partitions.size())
                .setReplicas(3)
                .setMaxRecordBytes(partitions.get(0).maxRecordBytes));
    for (FakePartition p : partitions) {
      info.addPartitions(
          PartitionInfo.newBuilder()
              .setPartition(p.partition)
              .setLeader(withLeaders ? p.leader : 0)
              .setTerm(p.term));
    }
    return info.build();
  }

  private void create(Channel channel, int correlation, CreateTopicRequest request) {
    if (topics.containsKey(request.getName())) {
      refuse(
          channel,
          ApiKind.CREATE_TOPIC,
          correlation,
          new Fault.Refuse(ErrorCode.TOPIC_EXISTS.toInfo("there is " + request.getName()), 0));
      return;
    }
    createTopic(request.getName(), Math.max(1, request.getSettings().getPartitions()));
    send(
        channel,
        ApiKind.CREATE_TOPIC,
        correlation,
        CreateTopicResponse.newBuilder()
            .setContext(context())
            .setTopic(topicInfo(request.getName(), true))
            .build(),
        null);
  }

  private ProduceResponse produce(
      FakeBroker broker, ProduceRequest request, ByteBuffer payload, ErrorInfo say) {
    ProduceResponse.Builder response = ProduceResponse.newBuilder().setContext(context());
    int at = 0;
    for (ProduceBatch batch : request.getBatchesList()) {
      ByteBuffer bytes = payload.duplicate().position(at).limit(at + batch.getSize()).slice();
      at += batch.getSize();
      FakePartition p = find(batch.getTopicId(), batch.getPartition());
      ProduceResult result;
      if (p == null) {
        result = FakePartition.error(ErrorCode.UNKNOWN_TOPIC.toInfo("no such topic id"));
      } else if (p.leader != broker.id) {
        result = FakePartition.error(notLeader(p));
      } else {
        result = p.produce(bytes, batch.getResume(), batch.getCrc());
      }
      response.addResults(say == null ? result : FakePartition.error(say));
    }
    return response.build();
  }

  FakePartition find(ByteString topicId, int partition) {
    for (List<FakePartition> partitions : topics.values()) {
      if (partitions.get(0).topicId.equals(topicId) && partition < partitions.size()) {
        return partitions.get(partition);
      }
    }
    return null;
  }

  ErrorInfo notLeader(FakePartition p) {
    ErrorInfo.Builder error = ErrorCode.NOT_LEADER.toInfo("leader is " + p.leader).toBuilder();
    if (hints && p.leader != 0) {
      error.setLeader(
          LeaderHint.newBuilder()
              .setBrokerId(p.leader)
              .setTerm(p.term)
              .setHost("127.0.0.1")
              .setPort(broker(p.leader).port()));
    }
    return error.build();
  }

  private ListOffsetsResponse listOffsets(FakeBroker broker, ListOffsetsRequest request) {
    ListOffsetsResponse.Builder response = ListOffsetsResponse.newBuilder().setContext(context());
    for (ListOffsetsPartition asked : request.getPartitionsList()) {
      FakePartition p = find(asked.getTopicId(), asked.getPartition());
      ListOffsetsResult.Builder result =
          ListOffsetsResult.newBuilder()
              .setTopicId(asked.getTopicId())
              .setPartition(asked.getPartition())
              .setTimestamp(-1);
      if (p == null) {
        result.setError(ErrorCode.UNKNOWN_TOPIC.toInfo(""));
      } else if (p.leader != broker.id) {
        result.setError(notLeader(p));
      } else {
        result.setTerm(p.term);
        switch (asked.getKind()) {
          case OFFSET_EARLIEST -> result.setOffset(p.logStart);
          case OFFSET_TIMESTAMP -> {
            long found = p.offsetForTime(asked.getTimestamp());
            result.setOffset(found < 0 ? p.end : found);
          }
          default -> result.setOffset(p.end);
        }
      }
      response.addResults(result);
    }
    return response.build();
  }

  // -------------------------------------------------------------------------------- answers

  private void refuse(Channel channel, ApiKind kind, int correlation, Fault.Refuse refuse) {
    channel.writeAndFlush(
        Frames.errorResponse(
            channel.alloc(),
            kind.code(),
            correlation,
            ResponseContext.newBuilder()
                .setError(refuse.error())
                .setThrottleMillis(refuse.throttleMillis())
                .build()));
  }

  private void refuseEach(
      Channel channel,
      ApiKind kind,
      int correlation,
      Message request,
      ByteBuffer payload,
      Fault.RefuseEach each) {
    if (request instanceof FetchRequest fetch) {
      fetches.refuseEach(channel, correlation, fetch, each.error());
      return;
    }
    ProduceResponse.Builder response =
        ProduceResponse.newBuilder()
            .setContext(context().toBuilder().setThrottleMillis(each.throttleMillis()));
    int at = 0;
    for (ProduceBatch batch : ((ProduceRequest) request).getBatchesList()) {
      FakePartition p = find(batch.getTopicId(), batch.getPartition());
      if (p != null) {
        p.refused(payload.duplicate().position(at).limit(at + batch.getSize()).slice());
      }
      at += batch.getSize();
      response.addResults(FakePartition.error(each.error()));
    }
    send(channel, kind, correlation, response.build(), null);
  }

  /** A null channel swallows the answer. */
  void send(Channel channel, ApiKind kind, int correlation, Message header, ByteBuffer payload) {
    if (channel != null) {
      ByteBuf body = payload == null ? null : Unpooled.wrappedBuffer(payload);
      channel.writeAndFlush(Frames.encode(channel.alloc(), kind, true, correlation, header, body));
    }
  }
}
