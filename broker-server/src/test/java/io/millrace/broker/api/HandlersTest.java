package io.millrace.broker.api;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.ByteString;
import com.google.protobuf.Message;
import io.millrace.broker.cluster.Balancer;
import io.millrace.broker.cluster.LeaderDirectory;
import io.millrace.broker.cluster.LeaderMover;
import io.millrace.broker.cluster.LocalBroker;
import io.millrace.broker.cluster.ProducerIds;
import io.millrace.broker.cluster.Uuids;
import io.millrace.broker.cluster.message.AllocateProducerIds;
import io.millrace.broker.cluster.message.DeleteTopic;
import io.millrace.broker.cluster.message.MetadataCommand;
import io.millrace.broker.cluster.message.MetadataResult;
import io.millrace.broker.cluster.message.ProducerIdBlock;
import io.millrace.broker.cluster.message.RegisterBroker;
import io.millrace.broker.cluster.message.ReplicasRemoved;
import io.millrace.broker.cluster.message.ReplicasStarted;
import io.millrace.broker.log.DiskSpace;
import io.millrace.broker.log.SimulatedDisk;
import io.millrace.broker.raft.transport.PeerRequests;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.error.MillraceException;
import io.millrace.protocol.frame.ApiKind;
import io.millrace.protocol.frame.Frame;
import io.millrace.protocol.frame.FrameDecoder;
import io.millrace.protocol.frame.Frames;
import io.millrace.protocol.message.BrokerStatusRequest;
import io.millrace.protocol.message.BrokerStatusResponse;
import io.millrace.protocol.message.CreateTopicRequest;
import io.millrace.protocol.message.CreateTopicResponse;
import io.millrace.protocol.message.DeleteTopicRequest;
import io.millrace.protocol.message.DeleteTopicResponse;
import io.millrace.protocol.message.DiskStatus;
import io.millrace.protocol.message.Gauge;
import io.millrace.protocol.message.InitProducerIdRequest;
import io.millrace.protocol.message.InitProducerIdResponse;
import io.millrace.protocol.message.LeaderAnnouncement;
import io.millrace.protocol.message.LeaderAnnouncementResponse;
import io.millrace.protocol.message.LedPartition;
import io.millrace.protocol.message.MetadataCommandHeader;
import io.millrace.protocol.message.MetadataCommandResponse;
import io.millrace.protocol.message.MetadataRequest;
import io.millrace.protocol.message.MetadataResponse;
import io.millrace.protocol.message.PeerFaults;
import io.millrace.protocol.message.PeerPingRequest;
import io.millrace.protocol.message.RaftHeader;
import io.millrace.protocol.message.RaftResponseHeader;
import io.millrace.protocol.message.ReplicaStatus;
import io.millrace.protocol.message.TransferLeaderRequest;
import io.millrace.protocol.message.TransferLeaderResponse;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.embedded.EmbeddedChannel;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.slf4j.LoggerFactory;

@Timeout(30)
class HandlersTest {

  private static final DiskSpace DISK_SPACE =
      new DiskSpace(new SimulatedDisk(1), Path.of("/data"), DiskSpace.Limits.withLow(1000));

  private static final UUID TOPIC = new UUID(5, 6);
  private static final LocalBroker SELF = new LocalBroker("shop", 1, new UUID(1, 2));

  private final FakeConnection connection = new FakeConnection();
  private final RecordingResponder responder = new RecordingResponder();
  private final FakeMetadata metadata = new FakeMetadata();
  private final DistinctErrors errors =
      new DistinctErrors(LoggerFactory.getLogger(HandlersTest.class));

  private RecordingResponder handle(RequestHandler handler, Message header, byte... payload) {
    EmbeddedChannel decoder = new EmbeddedChannel(new FrameDecoder(() -> 1 << 20));
    decoder.writeInbound(
        Frames.encode(
            UnpooledByteBufAllocator.DEFAULT,
            handler.kind(),
            false,
            1,
            header,
            Unpooled.wrappedBuffer(payload)));
    Frame frame = decoder.readInbound();
    try {
      handler.handle(
          new RequestContext(connection, handler.kind(), frame, System.nanoTime()), responder);
    } finally {
      frame.release();
      decoder.finishAndReleaseAll();
    }
    return responder;
  }

  // ------------------------------------------------------------------------------------- metadata

  @Test
  void metadataIsDescribed() {
    MetadataHandler handler = new MetadataHandler(metadata, () -> true, new RequestLimits(1, 2));
    handle(handler, MetadataRequest.newBuilder().addTopics("a").addTopics("b").build());
    assertThat(((MetadataResponse) responder.header).getAnsweringBroker()).isEqualTo(2);
  }

  @Test
  void tooManyTopicsAreMalformed() {
    MetadataHandler handler = new MetadataHandler(metadata, () -> true, new RequestLimits(1, 2));
    MetadataRequest request =
        MetadataRequest.newBuilder().addAllTopics(Collections.nCopies(3, "t")).build();
    assertThatThrownBy(() -> handle(handler, request))
        .isInstanceOfSatisfying(
            RequestRefusedException.class,
            refused -> assertThat(refused.code()).isEqualTo(ErrorCode.MALFORMED_REQUEST))
        .hasMessage("topics in one request: 3, the limit is 2; split the request");
  }

  @Test
  void createAndDeleteAnswerWhenTheClusterHas() {
    handle(
        new CreateTopicHandler(metadata, DISK_SPACE, errors),
        CreateTopicRequest.newBuilder().setName("orders").build());
    assertThat(responder.isAnswered()).isFalse();
    CreateTopicResponse created = CreateTopicResponse.newBuilder().build();
    metadata.created.complete(created);
    assertThat(responder.header).isSameAs(created);

    RecordingResponder second = new RecordingResponder();
    DeleteTopicHandler delete = new DeleteTopicHandler(metadata, errors);
    metadata.deleted.complete(DeleteTopicResponse.getDefaultInstance());
    CompletableFuture<DeleteTopicResponse> done = metadata.deleted;
    FutureAnswers.answer(done, response -> response, second, errors, "x");
    assertThat(second.header).isEqualTo(DeleteTopicResponse.getDefaultInstance());
    assertThat(delete.kind()).isEqualTo(ApiKind.DELETE_TOPIC);
  }

  @Test
  void aFutureThatFailsIsAnErrorOfItsClass() {
    metadata.created.completeExceptionally(
        new MillraceException(ErrorCode.NO_METADATA_LEADER, "nobody leads"));
    handle(
        new CreateTopicHandler(metadata, DISK_SPACE, errors),
        CreateTopicRequest.getDefaultInstance());
    assertThat(responder.error).isEqualTo(ErrorCode.NO_METADATA_LEADER);
    assertThat(responder.text).isEqualTo("nobody leads");
    assertThat(errors.total()).isZero();
  }

  @Test
  void aFaultInAFutureIsCountedAndItsOutcomeUnknown() {
    metadata.deleted.completeExceptionally(new IllegalStateException("bug"));
    handle(
        new DeleteTopicHandler(metadata, errors),
        DeleteTopicRequest.newBuilder().setName("orders").build());
    assertThat(responder.error).isEqualTo(ErrorCode.SERVER_ERROR);
    assertThat(responder.text)
        .isEqualTo("deletion of topic orders failed: java.lang.IllegalStateException: bug");
    assertThat(errors.total()).isEqualTo(1);
  }

  @Test
  void producerIdsAreGivenOnce() {
    metadata.result.complete(
        MetadataResult.newBuilder()
            .setProducerIds(ProducerIdBlock.newBuilder().setFirst(4_000).setCount(1_000))
            .build());
    InitProducerIdHandler handler = new InitProducerIdHandler(new ProducerIds(1, metadata), errors);
    handle(handler, InitProducerIdRequest.newBuilder().setProducerId(-1).build());
    InitProducerIdResponse response = (InitProducerIdResponse) responder.header;
    assertThat(response.getProducerId()).isEqualTo(4_000);
    assertThat(response.getEpoch()).isZero();
    assertThatThrownBy(
            () -> handle(handler, InitProducerIdRequest.newBuilder().setProducerId(7).build()))
        .hasMessage(
            "producer id 7 cannot be renewed by this version; ask with id -1 for a new one");
  }

  // ------------------------------------------------------------------------------ between brokers

  @Test
  void aForwardedCommandIsSubmittedWithTheTimeThatIsLeft() throws Exception {
    MetadataCommand command =
        MetadataCommand.newBuilder().setDeleteTopic(DeleteTopic.newBuilder().setName("x")).build();
    handle(
        new MetadataCommandHandler(metadata, errors),
        MetadataCommandHeader.newBuilder()
            .setContext(
                io.millrace.protocol.message.RequestContext.newBuilder().setDeadlineMillis(10_000))
            .build(),
        command.toByteArray());
    assertThat(metadata.submitted).isEqualTo(command);
    assertThat(metadata.timeoutMillis).isEqualTo(9_500);
    MetadataResult result =
        MetadataResult.newBuilder().setIndex(12).setErrorCode(3).setErrorText("why").build();
    metadata.result.complete(result);
    MetadataCommandResponse response = (MetadataCommandResponse) responder.header;
    assertThat(response.getIndex()).isEqualTo(12);
    assertThat(MetadataResult.parseFrom(response.getResult())).isEqualTo(result);
  }

  @Test
  void aBrokerSendsOnlyItsOwnCommands() {
    connection.acceptPeer(2, io.millrace.protocol.message.PeerChannel.PEER_CONTROL);
    MetadataCommandHandler handler = new MetadataCommandHandler(metadata, errors);
    List<MetadataCommand> ofBroker3 =
        List.of(
            MetadataCommand.newBuilder()
                .setRegisterBroker(RegisterBroker.newBuilder().setId(3))
                .build(),
            MetadataCommand.newBuilder()
                .setReplicasStarted(ReplicasStarted.newBuilder().setBroker(3))
                .build(),
            MetadataCommand.newBuilder()
                .setReplicasRemoved(ReplicasRemoved.newBuilder().setBroker(3))
                .build(),
            MetadataCommand.newBuilder()
                .setAllocateProducerIds(AllocateProducerIds.newBuilder().setBroker(3))
                .build());
    for (MetadataCommand command : ofBroker3) {
      assertThatThrownBy(
              () ->
                  handle(
                      handler, MetadataCommandHeader.getDefaultInstance(), command.toByteArray()))
          .isInstanceOfSatisfying(
              RequestRefusedException.class,
              refused -> assertThat(refused.code()).isEqualTo(ErrorCode.REFUSED))
          .hasMessage("broker 2 sent " + command.getCommandCase() + " of broker 3");
    }
    assertThat(metadata.submitted).isNull();
    MetadataCommand own =
        MetadataCommand.newBuilder()
            .setRegisterBroker(RegisterBroker.newBuilder().setId(2))
            .build();
    handle(handler, MetadataCommandHeader.getDefaultInstance(), own.toByteArray());
    assertThat(metadata.submitted).isEqualTo(own);
  }

  @Test
  void aPayloadThatIsNoCommandIsMalformed() {
    assertThatThrownBy(
            () ->
                handle(
                    new MetadataCommandHandler(metadata, errors),
                    MetadataCommandHeader.getDefaultInstance(),
                    (byte) -1,
                    (byte) -1))
        .isInstanceOf(RequestRefusedException.class)
        .hasMessageStartingWith("the payload of 2 bytes is no metadata command: ");
    assertThat(metadata.submitted).isNull();
  }

  @Test
  void aBrokerAnnouncesOnlyItsOwnLeaders() {
    LeaderDirectory leaders = new LeaderDirectory(1);
    LeaderAnnouncementHandler handler = new LeaderAnnouncementHandler(leaders);
    connection.acceptPeer(2, io.millrace.protocol.message.PeerChannel.PEER_CONTROL);
    LeaderAnnouncement announcement =
        LeaderAnnouncement.newBuilder()
            .setBrokerId(2)
            .addLed(
                LedPartition.newBuilder()
                    .setTopicId(Uuids.toBytes(TOPIC))
                    .setPartition(4)
                    .setTerm(9))
            .build();
    handle(handler, announcement);
    assertThat(responder.header).isEqualTo(LeaderAnnouncementResponse.getDefaultInstance());
    assertThat(leaders.leader(TOPIC, 4).broker()).isEqualTo(2);
    assertThatThrownBy(() -> handle(handler, announcement.toBuilder().setBrokerId(3).build()))
        .hasMessage("broker 2 announces leaders of broker 3");
    assertThat(leaders.leader(TOPIC, 4).broker()).isEqualTo(2);
  }

  @Test
  void aPingIsHeardAndHasNoAnswer() {
    connection.peerBrokerId = 2;
    List<String> heard = new ArrayList<>();
    handle(
        new PeerPingHandler((broker, ping) -> heard.add(broker + " sent " + ping.getSentNanos())),
        PeerPingRequest.newBuilder().setLife(1).setSentNanos(77).build());
    assertThat(heard).containsExactly("2 sent 77");
    assertThat(responder.silent).isTrue();
    assertThat(responder.header).isNull();
  }

  @Test
  void aTransferIsBegunOrRefusedWithTheReason() {
    List<Balancer.Move> moves = new ArrayList<>();
    LeaderMover mover =
        move -> {
          moves.add(move);
          return CompletableFuture.completedFuture(
              moves.size() == 1
                  ? new LeaderMover.Answer(true, "")
                  : new LeaderMover.Answer(false, "not in sync"));
        };
    TransferLeaderHandler handler = new TransferLeaderHandler(1, mover, errors);
    TransferLeaderRequest request =
        TransferLeaderRequest.newBuilder()
            .setTopicId(Uuids.toBytes(TOPIC))
            .setPartition(4)
            .setToBroker(3)
            .build();
    handle(handler, request);
    assertThat(moves).containsExactly(new Balancer.Move(new LeaderDirectory.Key(TOPIC, 4), 1, 3));
    assertThat(responder.header).isEqualTo(TransferLeaderResponse.getDefaultInstance());
    responder.header = null;
    handle(handler, request);
    TransferLeaderResponse refused = (TransferLeaderResponse) responder.header;
    assertThat(refused.getContext().getError().getText()).isEqualTo("not in sync");
    assertThatThrownBy(
            () ->
                handle(
                    handler,
                    request.toBuilder().setTopicId(ByteString.copyFromUtf8("abc")).build()))
        .hasMessage("a topic id has 16 bytes, this one 3");
  }

  @Test
  void raftMessagesGoOnWithTheBrokerOfTheConnection() throws Exception {
    connection.acceptPeer(2, io.millrace.protocol.message.PeerChannel.PEER_DATA);
    try (PeerRequests requests = new PeerRequests(1, broker -> {}, null, null)) {
      handle(
          new RaftHandler(requests),
          RaftHeader.newBuilder().setType(2).setGroup("nowhere").build(),
          (byte) 1);
    }
    assertThat(responder.header).isInstanceOf(RaftResponseHeader.class);
    assertThat(responder.payload.isReadable()).isTrue();
    responder.payload.release();
  }

  // --------------------------------------------------------------------------------------- status

  private static BrokerStatusHandler.Source source(Runnable onGauges) {
    return new BrokerStatusHandler.Source() {
      @Override
      public int metadataLeader() {
        return 3;
      }

      @Override
      public List<ReplicaStatus> replicas(String segmentsOf) {
        return List.of(ReplicaStatus.newBuilder().setGroup("meta").build());
      }

      @Override
      public List<Gauge> gauges() {
        onGauges.run();
        return List.of(Gauge.newBuilder().setName("g").setUsed(1).setLimit(2).build());
      }

      @Override
      public DiskStatus disk() {
        return DiskStatus.newBuilder().setFreeBytes(77).build();
      }

      @Override
      public List<Integer> unreachedPeers() {
        return List.of(2, 5);
      }

      @Override
      public List<PeerFaults> networkFaults() {
        return List.of(PeerFaults.newBuilder().setBrokerId(4).build());
      }
    };
  }

  @Test
  void statusGathersEverything() {
    handle(
        new BrokerStatusHandler(SELF, "v", source(() -> {}), Runnable::run, errors),
        BrokerStatusRequest.getDefaultInstance());
    BrokerStatusResponse status = (BrokerStatusResponse) responder.header;
    assertThat(status.getClusterId()).isEqualTo("shop");
    assertThat(status.getDisk().getFreeBytes()).isEqualTo(77);
    assertThat(status.getBrokerId()).isEqualTo(1);
    assertThat(status.getIncarnation()).isEqualTo(new UUID(1, 2).toString());
    assertThat(status.getVersion()).isEqualTo("v");
    assertThat(status.getPid()).isEqualTo(ProcessHandle.current().pid());
    assertThat(status.getUptimeMillis()).isNotNegative();
    assertThat(status.getMetadataLeader()).isEqualTo(3);
    assertThat(status.getReplicas(0).getGroup()).isEqualTo("meta");
    assertThat(status.getGauges(0).getLimit()).isEqualTo(2);
    assertThat(status.getNetworkFaults(0).getBrokerId()).isEqualTo(4);
    assertThat(status.getUnreachedPeersList()).containsExactly(2, 5);
  }

  @Test
  void aFaultOfTheStatusIsAnswered() {
    Runnable fault =
        () -> {
          throw new IllegalStateException("no gauges");
        };
    handle(
        new BrokerStatusHandler(SELF, "v", source(fault), Runnable::run, errors),
        BrokerStatusRequest.getDefaultInstance());
    assertThat(responder.error).isEqualTo(ErrorCode.SERVER_ERROR);
    assertThat(errors.total()).isEqualTo(1);
  }

  @Test
  void aStoppedExecutorMeansShutdown() {
    handle(
        new BrokerStatusHandler(
            SELF,
            "v",
            source(() -> {}),
            task -> {
              throw new RejectedExecutionException();
            },
            errors),
        BrokerStatusRequest.getDefaultInstance());
    assertThat(responder.error).isEqualTo(ErrorCode.SHUTTING_DOWN);
  }

  @Test
  void aKindHasOneHandler() {
    assertThatThrownBy(
            () ->
                new Handlers(
                    List.of(
                        new MetadataHandler(metadata, () -> true, RequestLimits.DEFAULT),
                        new MetadataHandler(metadata, () -> true, RequestLimits.DEFAULT))))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageStartingWith("METADATA has two handlers");
    assertThat(new Handlers(List.of()).find(ApiKind.FETCH)).isNull();
  }
}
