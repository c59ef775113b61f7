package io.millrace.broker.raft.transport;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.alipay.sofa.jraft.error.RaftError;
import com.alipay.sofa.jraft.rpc.RpcRequests.AppendEntriesRequest;
import com.alipay.sofa.jraft.rpc.RpcRequests.AppendEntriesResponse;
import com.alipay.sofa.jraft.rpc.RpcRequests.ErrorResponse;
import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import io.millrace.protocol.message.RaftHeader;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The follower's side, through the door that frames come in by. */
@Timeout(60)
class HeartbeatReceiverTest {

  private static final int LEADER = 1;

  private final ScheduledThreadPoolExecutor clock = new ScheduledThreadPoolExecutor(1);
  private final List<Integer> heard = Collections.synchronizedList(new ArrayList<>());
  private final List<Map<Long, Message>> responses =
      Collections.synchronizedList(new ArrayList<>());
  private final List<Map<Long, Message>> late = Collections.synchronizedList(new ArrayList<>());
  private final List<Map<Long, Message>> taken = Collections.synchronizedList(new ArrayList<>());
  private final LateAnswers lateAnswers =
      new LateAnswers() {
        @Override
        public void send(int brokerId, ByteBuf payload) {
          assertThat(brokerId).isEqualTo(LEADER);
          late.add(byNumber(payload));
          payload.release();
        }

        @Override
        public void take(int brokerId, ByteBuf payload) throws InvalidProtocolBufferException {
          HeartbeatBatch.decode(payload);
          taken.add(byNumber(payload));
        }
      };
  private final PeerRequests requests = new PeerRequests(2, heard::add, clock, lateAnswers);
  private final Map<String, List<String>> handled = new ConcurrentHashMap<>();

  @AfterEach
  void close() throws InterruptedException {
    requests.close();
    clock.shutdownNow();
  }

  private static Map<Long, Message> byNumber(ByteBuf payload) {
    Map<Long, Message> answers = new TreeMap<>();
    try {
      HeartbeatBatch.decode(payload).forEach(i -> answers.put(i.number(), i.message()));
    } catch (InvalidProtocolBufferException e) {
      throw new AssertionError(e);
    }
    return answers;
  }

  private static AppendEntriesRequest heartbeat(String group, long term) {
    return AppendEntriesRequest.newBuilder()
        .setGroupId(group)
        .setServerId("b1:0")
        .setPeerId("b2:0")
        .setTerm(term)
        .setPrevLogTerm(term)
        .setPrevLogIndex(7)
        .setCommittedIndex(7)
        .build();
  }

  private static AppendEntriesResponse success(Message request) {
    return AppendEntriesResponse.newBuilder()
        .setTerm(((AppendEntriesRequest) request).getTerm())
        .setSuccess(true)
        .build();
  }

  private void addGroup(String group) {
    addGroup(group, (request, answer) -> answer.accept(success(request)));
  }

  private interface Behaviour {
    void handle(Message request, Consumer<Message> answer);
  }

  private void addGroup(String group, Behaviour behaviour) {
    requests.add(
        group,
        (sender, request, answer) -> {
          handled
              .computeIfAbsent(group, g -> Collections.synchronizedList(new ArrayList<>()))
              .add(sender + " term " + ((AppendEntriesRequest) request).getTerm());
          behaviour.handle(request, answer);
        });
  }

  private void receive(HeartbeatBatch.Item... items) {
    receive(HeartbeatBatch.encode(UnpooledByteBufAllocator.DEFAULT, List.of(items)));
  }

  private void receive(ByteBuf payload) {
    requests.handle(
        LEADER,
        RaftHeader.newBuilder().setType(HeartbeatBatch.REQUESTS).build(),
        payload,
        (header, answers) -> {
          if (header.getType() == HeartbeatBatch.ANSWERS) {
            responses.add(byNumber(answers));
          } else {
            responses.add(Map.of(-1L, ErrorResponse.getDefaultInstance()));
          }
          answers.release();
        });
  }

  private static HeartbeatBatch.Item item(long number, Message message) {
    return new HeartbeatBatch.Item(number, message);
  }

  @Test
  void oneFrameOfAnswersForOneFrameOfHeartbeats() {
    HeartbeatBatch.Item[] items = new HeartbeatBatch.Item[100];
    for (int i = 0; i < items.length; i++) {
      addGroup("g" + i);
      items[i] = item(1000 + i, heartbeat("g" + i, i));
    }
    receive(items);
    await().until(() -> answers() == 100);
    // With a stop of the machine for longer than the window some answers are late.
    assertThat(responses).hasSize(1);
    for (int i = 0; i < items.length; i++) {
      assertThat(handled.get("g" + i)).containsExactly("1 term " + i);
    }
    assertThat(heard).containsExactly(LEADER);
    assertThat(requests.parsedCount()).isEqualTo(100);
  }

  private int answers() {
    return sizes(responses) + sizes(late);
  }

  private static int sizes(List<Map<Long, Message>> frames) {
    return List.copyOf(frames).stream().mapToInt(Map::size).sum();
  }

  @Test
  void aGroupThatIsBusyHoldsUpNoAnswerButItsOwn() {
    CountDownLatch go = new CountDownLatch(1);
    addGroup(
        "busy",
        (request, answer) -> {
          try {
            go.await();
          } catch (InterruptedException e) {
            throw new IllegalStateException(e);
          }
          answer.accept(success(request));
        });
    HeartbeatBatch.Item[] items = new HeartbeatBatch.Item[40];
    for (int i = 0; i < items.length - 1; i++) {
      addGroup("g" + i);
      items[i] = item(i, heartbeat("g" + i, i));
    }
    // The last of its run, and so with others before it that must not wait either.
    items[items.length - 1] = item(39, heartbeat("busy", 39));
    receive(items);
    await().until(() -> answers() == 39);
    assertThat(responses).hasSize(1);
    assertThat(responses.get(0)).doesNotContainKey(39L);
    go.countDown();
    await().until(() -> answers() == 40);
    Map<Long, Message> last = late.get(late.size() - 1);
    assertThat(last.get(39L)).isEqualTo(success(heartbeat("busy", 39)));
    assertThat(responses).hasSize(1);
  }

  @Test
  void heartbeatsOfAGroupKeepTheirOrderAmongItsOtherMessages() {
    addGroup("g");
    for (int i = 1; i <= 200; i += 2) {
      receive(item(i, heartbeat("g", i)));
      requests.handle(
          LEADER,
          RaftHeader.newBuilder()
              .setType(RaftMessageType.APPEND_ENTRIES.code())
              .setGroup("g")
              .build(),
          Unpooled.wrappedBuffer(heartbeat("g", i + 1).toByteArray()),
          (header, payload) -> payload.release());
    }
    await().until(() -> handled.getOrDefault("g", List.of()).size() == 200);
    for (int i = 0; i < 200; i++) {
      assertThat(handled.get("g").get(i)).isEqualTo("1 term " + (i + 1));
    }
  }

  @Test
  void whatCannotBeHandledIsAnsweredWithAnErrorAndHarmsNoOther() {
    addGroup("good");
    addGroup(
        "stopping",
        (request, answer) -> {
          answer.accept(success(request)); // As JRaft can: it answers, and then throws.
          throw new IllegalStateException("expected by the test");
        });
    addGroup(
        "faulty",
        (request, answer) -> {
          throw new ArithmeticException("expected by the test");
        });
    AppendEntriesRequest probe = heartbeat("good", 4).toBuilder().setData(ByteString.EMPTY).build();
    receive(
        item(1, heartbeat("nowhere", 1)),
        item(2, heartbeat("stopping", 2)),
        item(3, heartbeat("faulty", 3)),
        item(4, probe),
        item(5, heartbeat("good", 5)));
    await().until(() -> answers() == 5);
    Map<Long, Message> all = new TreeMap<>();
    responses.forEach(all::putAll);
    late.forEach(all::putAll);
    assertThat(((ErrorResponse) all.get(1L)).getErrorCode())
        .isEqualTo(RaftError.ENOENT.getNumber());
    assertThat(all.get(2L)).isEqualTo(success(heartbeat("stopping", 2)));
    assertThat(((ErrorResponse) all.get(3L)).getErrorMsg()).contains("expected by the test");
    assertThat(((ErrorResponse) all.get(4L)).getErrorCode())
        .isEqualTo(RaftError.EINVAL.getNumber());
    assertThat(all.get(5L)).isEqualTo(success(heartbeat("good", 5)));
    assertThat(handled.get("good")).containsExactly("1 term 5");
  }

  @Test
  void bytesThatAreNoHeartbeatsAreRefusedAndAnEmptyFrameIsAnswered() {
    receive(Unpooled.wrappedBuffer(new byte[] {1, 2, 3}));
    assertThat(responses).hasSize(1);
    assertThat(responses.get(0)).containsKey(-1L);
    receive(Unpooled.buffer(0));
    assertThat(responses).hasSize(2);
    assertThat(responses.get(1)).isEmpty();
  }

  @Test
  void lateAnswersGoToTheirTaker() {
    List<Integer> answered = new ArrayList<>();
    ByteBuf payload =
        HeartbeatBatch.encode(
            UnpooledByteBufAllocator.DEFAULT, List.of(item(9, success(heartbeat("g", 9)))));
    requests.handle(
        LEADER,
        RaftHeader.newBuilder().setType(HeartbeatBatch.ANSWERS).build(),
        payload,
        (header, nothing) -> {
          assertThat(nothing).isNull();
          answered.add(header.getType());
        });
    assertThat(taken).hasSize(1);
    assertThat(taken.get(0)).containsKey(9L);
    assertThat(answered).containsExactly(HeartbeatBatch.ANSWERS);
    assertThat(payload.refCnt()).isZero();
  }
}
