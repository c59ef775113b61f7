package io.millrace.broker.raft.transport;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.alipay.sofa.jraft.error.InvokeTimeoutException;
import com.alipay.sofa.jraft.error.RemotingException;
import com.alipay.sofa.jraft.rpc.InvokeCallback;
import com.alipay.sofa.jraft.rpc.RpcRequests.AppendEntriesRequest;
import com.alipay.sofa.jraft.rpc.RpcRequests.AppendEntriesResponse;
import com.alipay.sofa.jraft.rpc.RpcRequests.RequestVoteResponse;
import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import io.millrace.protocol.frame.ApiKind;
import io.millrace.protocol.frame.Frame;
import io.millrace.protocol.frame.FrameDecoder;
import io.millrace.protocol.frame.Frames;
import io.millrace.protocol.message.RaftHeader;
import io.millrace.protocol.message.RaftResponseHeader;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.embedded.EmbeddedChannel;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Executor;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(60)
class HeartbeatSenderTest {

  private static final long LONG_MILLIS = 60_000;

  /** One frame as the link got it. */
  private record Sent(
      RaftHeader header,
      List<HeartbeatBatch.Item> items,
      long timeoutMillis,
      PeerNetwork.ResponseHandler handler) {

    void answer(List<HeartbeatBatch.Item> answers) {
      handler.onResponse(response(HeartbeatBatch.ANSWERS, answers));
    }
  }

  /** Counts its ends. */
  private static final class Callback implements InvokeCallback {
    final List<String> ends = Collections.synchronizedList(new ArrayList<>());
    final long begunNanos = System.nanoTime();
    final Executor executor;
    volatile long endedNanos;

    Callback(Executor executor) {
      this.executor = executor;
    }

    @Override
    public void complete(Object result, Throwable error) {
      endedNanos = System.nanoTime();
      ends.add(
          error == null
              ? "term " + ((AppendEntriesResponse) result).getTerm()
              : error.getClass().getSimpleName());
    }

    @Override
    public Executor executor() {
      return executor;
    }
  }

  private final ScheduledThreadPoolExecutor clock = new ScheduledThreadPoolExecutor(2);
  private final List<Sent> frames = Collections.synchronizedList(new ArrayList<>());
  private final HeartbeatSender sender = new HeartbeatSender(this::record, clock);

  @AfterEach
  void stopClock() {
    clock.shutdownNow();
  }

  private void record(
      RaftHeader header, ByteBuf payload, long timeoutMillis, PeerNetwork.ResponseHandler handler) {
    frames.add(new Sent(header, items(payload), timeoutMillis, handler));
  }

  private static List<HeartbeatBatch.Item> items(ByteBuf payload) {
    try {
      return HeartbeatBatch.decode(payload);
    } catch (InvalidProtocolBufferException e) {
      throw new AssertionError(e);
    } finally {
      payload.release();
    }
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

  private static HeartbeatBatch.Item answer(HeartbeatBatch.Item request) {
    return new HeartbeatBatch.Item(
        request.number(),
        AppendEntriesResponse.newBuilder()
            .setTerm(((AppendEntriesRequest) request.message()).getTerm())
            .setSuccess(true)
            .build());
  }

  /** A response frame as the decoder makes it. */
  private static Frame response(int type, List<HeartbeatBatch.Item> answers) {
    EmbeddedChannel channel = new EmbeddedChannel(new FrameDecoder(() -> 1 << 20));
    ByteBuf payload = HeartbeatBatch.encode(UnpooledByteBufAllocator.DEFAULT, answers);
    channel.writeInbound(
        Frames.encode(
            UnpooledByteBufAllocator.DEFAULT,
            ApiKind.RAFT,
            true,
            1,
            RaftResponseHeader.newBuilder().setType(type).build(),
            payload));
    return channel.readInbound();
  }

  private Callback send(long term, long timeoutMillis) {
    Callback callback = new Callback(Runnable::run);
    sender.send(heartbeat("g" + term, term), callback, timeoutMillis);
    return callback;
  }

  private Sent frame(int index) {
    await().until(() -> frames.size() > index);
    return frames.get(index);
  }

  // ------------------------------------------------------------------------------------ one frame

  @Test
  void whatComesWithinTheWindowLeavesTogether() {
    List<Callback> callbacks = new ArrayList<>();
    for (int i = 1; i <= 100; i++) {
      callbacks.add(send(i, LONG_MILLIS));
    }
    await().until(() -> frames.stream().mapToInt(f -> f.items().size()).sum() == 100);
    // A machine that stops for longer than the window splits them; 100 frames they never are.
    assertThat(frames).hasSizeLessThan(20);
    assertThat(frames).allMatch(f -> f.header().getType() == HeartbeatBatch.REQUESTS);
    for (Sent frame : List.copyOf(frames)) {
      frame.answer(frame.items().stream().map(HeartbeatSenderTest::answer).toList());
    }
    for (int i = 0; i < 100; i++) {
      assertThat(callbacks.get(i).ends).containsExactly("term " + (i + 1));
    }
    assertThat(sender.unanswered()).isZero();
  }

  @Test
  void aLoneHeartbeatLeavesAfterTheWindow() {
    send(1, LONG_MILLIS);
    assertThat(frame(0).items()).hasSize(1);
    assertThat(frame(0).timeoutMillis()).isBetween(LONG_MILLIS - 10_000, LONG_MILLIS);
  }

  @Test
  void aFullFrameDoesNotWait() {
    clock.shutdown(); // No window would ever end.
    clock.setRejectedExecutionHandler((task, executor) -> {});
    for (int i = 1; i <= HeartbeatBatch.MAX_ITEMS; i++) {
      send(i, LONG_MILLIS);
    }
    assertThat(frames).hasSize(1);
    assertThat(frames.get(0).items()).hasSize(HeartbeatBatch.MAX_ITEMS);
  }

  @Test
  void heartbeatsWithOtherTimeoutsLeaveApart() {
    send(1, LONG_MILLIS);
    send(2, 500);
    send(3, LONG_MILLIS);
    await().until(() -> frames.stream().mapToInt(f -> f.items().size()).sum() == 3);
    for (Sent frame : List.copyOf(frames)) {
      for (HeartbeatBatch.Item item : frame.items()) {
        boolean shortOne = ((AppendEntriesRequest) item.message()).getTerm() == 2;
        assertThat(frame.timeoutMillis() <= 500).isEqualTo(shortOne);
      }
    }
  }

  // ------------------------------------------------------------------------------- how they end

  @Test
  void aLateAnswerCountsAndADuplicateDoesNot() {
    Callback early = send(1, LONG_MILLIS);
    Callback late = send(2, LONG_MILLIS);
    await().until(() -> frames.stream().mapToInt(f -> f.items().size()).sum() == 2);
    List<HeartbeatBatch.Item> items =
        List.copyOf(frames).stream().flatMap(f -> f.items().stream()).toList();
    frames.get(0).answer(List.of(answer(items.get(0))));
    assertThat(early.ends).containsExactly("term 1");
    assertThat(late.ends).isEmpty();
    sender.answered(List.of(answer(items.get(0)), answer(items.get(1)), answer(items.get(1))));
    assertThat(early.ends).containsExactly("term 1");
    assertThat(late.ends).containsExactly("term 2");
    sender.answered(List.of(new HeartbeatBatch.Item(99, answer(items.get(0)).message())));
  }

  @Test
  void aHeartbeatThatIsMissingInTheResponseTimesOutByItself() {
    Callback answered = send(1, 300);
    Callback missing = send(2, 300);
    await().until(() -> frames.stream().mapToInt(f -> f.items().size()).sum() == 2);
    for (Sent frame : List.copyOf(frames)) {
      frame.answer(
          frame.items().stream()
              .filter(i -> ((AppendEntriesRequest) i.message()).getTerm() == 1)
              .map(HeartbeatSenderTest::answer)
              .toList());
    }
    await().until(() -> !missing.ends.isEmpty());
    assertThat(missing.ends).containsExactly("InvokeTimeoutException");
    assertThat(missing.endedNanos - missing.begunNanos)
        .isGreaterThanOrEqualTo(TimeUnit.MILLISECONDS.toNanos(290));
    assertThat(answered.ends).containsExactly("term 1");
  }

  @Test
  void lossOfTheFrameEndsAllOfIt() {
    Callback timedOut = send(1, LONG_MILLIS);
    frame(0).handler().onFailure(PeerRequestException.timedOut("t"));
    assertThat(timedOut.ends).containsExactly(InvokeTimeoutException.class.getSimpleName());
    Callback lost = send(2, LONG_MILLIS);
    frame(1).handler().onFailure(PeerRequestException.lost("l"));
    assertThat(lost.ends).containsExactly(RemotingException.class.getSimpleName());
    Callback unreadable = send(3, LONG_MILLIS);
    frame(2).handler().onResponse(response(RaftMessageType.ERROR_RESPONSE.code(), List.of()));
    assertThat(unreadable.ends).containsExactly("RemotingException");
  }

  @Test
  void anAnswerOfAnotherKindIsAFailure() {
    Callback callback = send(1, LONG_MILLIS);
    frame(0)
        .answer(
            List.of(
                new HeartbeatBatch.Item(
                    frame(0).items().get(0).number(),
                    RequestVoteResponse.newBuilder().setTerm(1).setGranted(true).build())));
    assertThat(callback.ends).containsExactly("RemotingException");
  }

  @Test
  void closingEndsWhatWaits() {
    HeartbeatSender closing =
        new HeartbeatSender(
            (header, payload, timeoutMillis, handler) -> {
              payload.release();
              throw PeerRequestException.notSent("never");
            },
            clock);
    Callback waiting = new Callback(Runnable::run);
    closing.send(heartbeat("g", 1), waiting, LONG_MILLIS);
    closing.close();
    Callback after = new Callback(Runnable::run);
    closing.send(heartbeat("g", 1), after, LONG_MILLIS);
    // The window can have ended first, on another thread; then that one tells of the failure.
    await().untilAsserted(() -> assertThat(waiting.ends).hasSize(1));
    assertThat(after.ends).hasSize(1);
  }

  // ---------------------------------------------------------------------------------- everything

  /**
   * Any mixture of answers in time, late, twice and never, frames that are lost, refused or cut
   * off, and threads that send at once: every heartbeat ends once, and with its own answer if at
   * all.
   */
  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
  void eachHeartbeatEndsExactlyOnce(long seed) throws Exception {
    long timeoutMillis = 100;
    Random random = new Random(seed);
    HeartbeatSender[] under = new HeartbeatSender[1];
    HeartbeatSender.Link link =
        (header, payload, millis, handler) -> {
          List<HeartbeatBatch.Item> items = items(payload);
          int fate;
          List<HeartbeatBatch.Item> inTime = new ArrayList<>();
          List<HeartbeatBatch.Item> late = new ArrayList<>();
          synchronized (random) {
            fate = random.nextInt(8);
            for (HeartbeatBatch.Item item : items) {
              int own = random.nextInt(10);
              if (own < 6) {
                inTime.add(answer(item));
              } else if (own < 9) {
                late.add(answer(item));
                if (own == 8) {
                  late.add(answer(item));
                }
              }
            }
          }
          switch (fate) {
            case 0 -> throw PeerRequestException.notSent("refused");
            case 1 ->
                clock.schedule(
                    () -> handler.onFailure(PeerRequestException.timedOut("lost")),
                    millis,
                    TimeUnit.MILLISECONDS);
            case 2 ->
                clock.schedule(
                    () -> handler.onFailure(PeerRequestException.lost("cut off")),
                    5,
                    TimeUnit.MILLISECONDS);
            default ->
                clock.schedule(
                    () -> handler.onResponse(response(HeartbeatBatch.ANSWERS, inTime)),
                    fate,
                    TimeUnit.MILLISECONDS);
          }
          // Late ones also of frames that were lost, and after the timeout.
          clock.schedule(
              () -> under[0].answered(late), fate * timeoutMillis / 5, TimeUnit.MILLISECONDS);
        };
    under[0] = new HeartbeatSender(link, clock);
    List<Callback> callbacks = new ArrayList<>();
    List<Thread> threads = new ArrayList<>();
    for (int t = 0; t < 3; t++) {
      List<Callback> mine = new ArrayList<>();
      for (int i = 0; i < 200; i++) {
        mine.add(new Callback(Runnable::run));
      }
      int offset = t * 200;
      callbacks.addAll(mine);
      Thread thread =
          new Thread(
              () -> {
                for (int i = 0; i < mine.size(); i++) {
                  under[0].send(heartbeat("g", offset + i), mine.get(i), timeoutMillis);
                  if (i % 20 == 0) {
                    java.util.concurrent.locks.LockSupport.parkNanos(3_000_000);
                  }
                }
              });
      threads.add(thread);
      thread.start();
    }
    for (Thread thread : threads) {
      thread.join();
    }
    await().until(() -> callbacks.stream().noneMatch(c -> c.ends.isEmpty()));
    // Whatever is still to come must change nothing.
    await().until(() -> clock.getQueue().isEmpty() && clock.getActiveCount() == 0);
    for (int i = 0; i < callbacks.size(); i++) {
      assertThat(callbacks.get(i).ends)
          .hasSize(1)
          .containsAnyOf("term " + i, "InvokeTimeoutException", "RemotingException");
    }
    assertThat(callbacks).anyMatch(c -> c.ends.get(0).startsWith("term"));
    assertThat(under[0].unanswered()).isZero();
  }

  // -------------------------------------------------------------------------------------- format

  @Test
  void probesAndEntriesAreNoHeartbeats() {
    AppendEntriesRequest heartbeat = heartbeat("g", 1);
    assertThat(HeartbeatBatch.isHeartbeat(heartbeat)).isTrue();
    assertThat(HeartbeatBatch.isHeartbeat(heartbeat.toBuilder().setData(ByteString.EMPTY).build()))
        .isFalse();
    assertThat(HeartbeatBatch.isHeartbeat(RequestVoteResponse.getDefaultInstance())).isFalse();
  }

  @Test
  void aBatchComesBackAsItWas() {
    List<HeartbeatBatch.Item> items = new ArrayList<>();
    for (int i = 0; i < 300; i++) {
      items.add(new HeartbeatBatch.Item(i * 1000L, heartbeat("group-" + i, i)));
    }
    assertThat(items(HeartbeatBatch.encode(UnpooledByteBufAllocator.DEFAULT, items)))
        .isEqualTo(items);
    assertThat(items(HeartbeatBatch.encode(UnpooledByteBufAllocator.DEFAULT, List.of()))).isEmpty();
  }

  @Test
  void bytesThatAreNoBatchAreRefused() {
    Message heartbeat = heartbeat("g", 1);
    ByteBuf whole =
        HeartbeatBatch.encode(
            UnpooledByteBufAllocator.DEFAULT, List.of(new HeartbeatBatch.Item(1, heartbeat)));
    for (int length = 1; length < whole.readableBytes(); length++) {
      ByteBuf cut = whole.copy(0, length);
      assertRefused(cut);
    }
    ByteBuf otherType = whole.copy();
    otherType.setByte(1, 77);
    assertRefused(otherType);
    ByteBuf longer = whole.copy();
    longer.setByte(2, longer.getByte(2) - 1);
    assertRefused(longer);
    whole.release();
    List<HeartbeatBatch.Item> many = new ArrayList<>();
    for (int i = 0; i <= HeartbeatBatch.MAX_ITEMS; i++) {
      many.add(new HeartbeatBatch.Item(i, heartbeat));
    }
    assertRefused(HeartbeatBatch.encode(UnpooledByteBufAllocator.DEFAULT, many));
  }

  private static void assertRefused(ByteBuf payload) {
    try {
      org.assertj.core.api.Assertions.assertThatThrownBy(() -> HeartbeatBatch.decode(payload))
          .isInstanceOf(InvalidProtocolBufferException.class);
    } finally {
      payload.release();
    }
  }
}
