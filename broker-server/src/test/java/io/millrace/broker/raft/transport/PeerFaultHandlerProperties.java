package io.millrace.broker.raft.transport;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.broker.raft.transport.NetworkFaults.Flow;
import io.millrace.broker.raft.transport.NetworkFaults.Link;
import io.millrace.protocol.frame.ApiKind;
import io.millrace.protocol.frame.Frame;
import io.millrace.protocol.frame.FrameDecoder;
import io.millrace.protocol.frame.Frames;
import io.millrace.protocol.message.PeerHelloRequest;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.ChannelFuture;
import io.netty.channel.embedded.EmbeddedChannel;
import java.nio.channels.ClosedChannelException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;

/** One connection under faults that change, against a clock that the test moves. */
class PeerFaultHandlerProperties {

  private static final int PEER = 2;

  /** A channel with the handler, and what was put in and came out of it. */
  private static final class Fixture {
    final NetworkFaults faults;
    final EmbeddedChannel channel;
    final List<ByteBuf> all = new ArrayList<>();
    final List<Integer> arrived = new ArrayList<>();
    final List<Integer> left = new ArrayList<>();
    final List<ChannelFuture> writes = new ArrayList<>();
    private long nowNanos;
    private int next;

    Fixture(long seed) {
      faults = new NetworkFaults(new Random(seed)::nextDouble);
      channel = new EmbeddedChannel(new PeerFaultHandler(faults, () -> PEER, () -> nowNanos));
      channel.freezeTime();
    }

    private ByteBuf message() {
      ByteBuf message = Unpooled.buffer(4).writeInt(next++);
      all.add(message);
      return message;
    }

    int arrive() {
      int number = next;
      channel.writeInbound(message());
      collect();
      return number;
    }

    int leave() {
      int number = next;
      writes.add(channel.writeAndFlush(message()));
      collect();
      return number;
    }

    void pass(long millis) {
      long nanos = TimeUnit.MILLISECONDS.toNanos(millis);
      nowNanos += nanos;
      channel.advanceTimeBy(nanos, TimeUnit.NANOSECONDS);
      channel.runPendingTasks();
      collect();
    }

    private void collect() {
      for (ByteBuf in = channel.readInbound(); in != null; in = channel.readInbound()) {
        arrived.add(in.readInt());
        in.release();
      }
      for (ByteBuf out = channel.readOutbound(); out != null; out = channel.readOutbound()) {
        left.add(out.readInt());
        out.release();
      }
    }
  }

  sealed interface Step {
    record Arrive() implements Step {}

    record Leave() implements Step {}

    record Pass(int millis) implements Step {}

    record Change(Link link) implements Step {}
  }

  @Provide
  Arbitrary<List<Step>> scripts() {
    Arbitrary<Flow> flow =
        Combinators.combine(
                Arbitraries.of(0, 0, 1, 30),
                Arbitraries.of(0, 0, 5, 80),
                Arbitraries.of(0.0, 0.0, 40.0))
            .as((latency, jitter, loss) -> new Flow(false, latency, jitter, loss));
    return Arbitraries.<Step>frequencyOf(
            net.jqwik.api.Tuple.of(6, Arbitraries.create(Step.Arrive::new)),
            net.jqwik.api.Tuple.of(6, Arbitraries.create(Step.Leave::new)),
            net.jqwik.api.Tuple.of(4, Arbitraries.integers().between(0, 50).map(Step.Pass::new)),
            net.jqwik.api.Tuple.of(
                2, Combinators.combine(flow, flow).as(Link::new).map(Step.Change::new)))
        .list()
        .ofMaxSize(80);
  }

  /** Nothing is overtaken, nothing comes twice, and what is not lost comes in time. */
  @Property
  void orderIsKeptWhateverTheFaults(@ForAll("scripts") List<Step> script, @ForAll long seed) {
    Fixture fixture = new Fixture(seed);
    List<Integer> in = new ArrayList<>();
    List<Integer> out = new ArrayList<>();
    boolean lossy = false;
    for (Step step : script) {
      if (step instanceof Step.Arrive) {
        in.add(fixture.arrive());
      } else if (step instanceof Step.Leave) {
        out.add(fixture.leave());
      } else if (step instanceof Step.Pass pass) {
        fixture.pass(pass.millis());
      } else if (step instanceof Step.Change change) {
        lossy |= change.link().from().lossPercent() > 0;
        fixture.faults.set(PEER, change.link());
      }
    }
    fixture.faults.heal();
    fixture.pass(200);

    assertThat(fixture.arrived).isSorted().doesNotHaveDuplicates();
    assertThat(in).containsAll(fixture.arrived);
    if (!lossy) {
      assertThat(fixture.arrived).isEqualTo(in);
    }
    // What is lost on its way out is lost before it gets here.
    assertThat(fixture.left).isEqualTo(out);
    assertThat(fixture.writes).allMatch(ChannelFuture::isSuccess);
    assertThat(fixture.all).allMatch(message -> message.refCnt() == 0);
    fixture.channel.finish();
  }

  @Property
  void whatIsLateWhenTheConnectionClosesIsReleased(
      @ForAll("scripts") List<Step> script, @ForAll long seed) {
    Fixture fixture = new Fixture(seed);
    fixture.faults.set(PEER, new Link(new Flow(false, 1000, 0, 0), new Flow(false, 1000, 0, 0)));
    int written = 0;
    for (Step step : script) {
      if (step instanceof Step.Arrive) {
        fixture.arrive();
      } else if (step instanceof Step.Leave) {
        fixture.leave();
        written++;
      }
    }
    fixture.channel.close();
    fixture.pass(5000);

    assertThat(fixture.all).allMatch(message -> message.refCnt() == 0);
    assertThat(fixture.writes)
        .hasSize(written)
        .allMatch(write -> write.cause() instanceof ClosedChannelException);
    assertThat(fixture.arrived).isEmpty();
    assertThat(fixture.left).isEmpty();
  }

  @Example
  void latencyIsExact() {
    Fixture fixture = new Fixture(1);
    fixture.faults.set(PEER, new Link(new Flow(false, 50, 0, 0), new Flow(false, 20, 0, 0)));
    fixture.arrive();
    fixture.leave();
    fixture.pass(19);
    assertThat(fixture.arrived).isEmpty();
    fixture.pass(1);
    assertThat(fixture.arrived).containsExactly(0);
    fixture.pass(29);
    assertThat(fixture.left).isEmpty();
    assertThat(fixture.writes.get(0).isDone()).isFalse();
    fixture.pass(1);
    assertThat(fixture.left).containsExactly(1);
    assertThat(fixture.writes.get(0).isSuccess()).isTrue();
  }

  @Example
  void aHealDoesNotLetLaterMessagesOvertake() {
    Fixture fixture = new Fixture(1);
    fixture.faults.set(PEER, new Link(new Flow(false, 50, 0, 0), new Flow(false, 50, 0, 0)));
    IntStream.range(0, 3).forEach(i -> fixture.arrive());
    fixture.faults.heal();
    fixture.arrive();
    assertThat(fixture.arrived).isEmpty();
    fixture.pass(50);
    assertThat(fixture.arrived).containsExactly(0, 1, 2, 3);
    fixture.arrive();
    assertThat(fixture.arrived).endsWith(4);
  }

  @Example
  void onlyTheCutDirectionIsCut() {
    Fixture fixture = new Fixture(1);
    fixture.faults.set(PEER, new Link(Flow.SOUND, Flow.CUT));
    fixture.arrive();
    fixture.leave();
    assertThat(fixture.arrived).isEmpty();
    assertThat(fixture.left).containsExactly(1);
    assertThat(fixture.all).allMatch(message -> message.refCnt() == 0);
  }

  /** Before the handshake only its own words say who is there. */
  @Example
  void theHandshakeOfACutOffBrokerIsSwallowed() {
    NetworkFaults faults = new NetworkFaults();
    faults.isolateFrom(PEER);
    EmbeddedChannel channel =
        new EmbeddedChannel(new FrameDecoder(() -> 1 << 16), new PeerFaultHandler(faults, () -> 0));
    channel.writeInbound(hello(PEER));
    assertThat(channel.<Object>readInbound()).isNull();
    // Whatever follows on that connection is its own.
    channel.writeInbound(frame(ApiKind.RAFT));
    assertThat(channel.<Object>readInbound()).isNull();
    faults.heal();
    channel.writeInbound(hello(PEER));
    Frame heard = channel.readInbound();
    assertThat(heard.kind()).isEqualTo(ApiKind.PEER_HELLO);
    heard.release();
    channel.finish();
  }

  @Example
  void clientsAndOtherBrokersAreNotConcerned() {
    NetworkFaults faults = new NetworkFaults();
    faults.isolateFrom(PEER);
    for (ByteBuf request : List.of(frame(ApiKind.METADATA), hello(3))) {
      EmbeddedChannel channel =
          new EmbeddedChannel(
              new FrameDecoder(() -> 1 << 16), new PeerFaultHandler(faults, () -> 0));
      channel.writeInbound(request);
      Frame heard = channel.readInbound();
      assertThat(heard).isNotNull();
      heard.release();
      channel.writeOutbound(Unpooled.buffer(1).writeByte(1));
      assertThat(channel.<ByteBuf>readOutbound().release()).isTrue();
      channel.finish();
    }
  }

  private static ByteBuf hello(int brokerId) {
    return Frames.encode(
        UnpooledByteBufAllocator.DEFAULT,
        ApiKind.PEER_HELLO,
        false,
        1,
        PeerHelloRequest.newBuilder().setBrokerId(brokerId).build(),
        null);
  }

  private static ByteBuf frame(ApiKind kind) {
    return Frames.encode(
        UnpooledByteBufAllocator.DEFAULT,
        kind,
        false,
        2,
        PeerHelloRequest.getDefaultInstance(),
        null);
  }
}
