package io.millrace.broker.api;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.millrace.broker.raft.transport.NetworkFaults;
import io.millrace.broker.raft.transport.NetworkFaults.Flow;
import io.millrace.broker.raft.transport.NetworkFaults.Link;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.frame.ApiKind;
import io.millrace.protocol.frame.Frame;
import io.millrace.protocol.frame.FrameDecoder;
import io.millrace.protocol.frame.Frames;
import io.millrace.protocol.message.FaultsAction;
import io.millrace.protocol.message.FlowFaults;
import io.millrace.protocol.message.NetworkFaultsRequest;
import io.millrace.protocol.message.NetworkFaultsResponse;
import io.millrace.protocol.message.PeerFaults;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.embedded.EmbeddedChannel;
import org.junit.jupiter.api.Test;

class NetworkFaultsHandlerTest {

  private static final PeerFaults CUT_TO_2 =
      PeerFaults.newBuilder()
          .setBrokerId(2)
          .setTo(FlowFaults.newBuilder().setDropped(true))
          .setFrom(FlowFaults.getDefaultInstance())
          .build();
  private static final PeerFaults SLOW_FROM_3 =
      PeerFaults.newBuilder()
          .setBrokerId(3)
          .setTo(FlowFaults.getDefaultInstance())
          .setFrom(
              FlowFaults.newBuilder().setLatencyMillis(50).setJitterMillis(5).setLossPercent(1.5))
          .build();

  private final NetworkFaults faults = new NetworkFaults();

  private NetworkFaultsResponse handle(boolean allowed, NetworkFaultsRequest header) {
    EmbeddedChannel decoder = new EmbeddedChannel(new FrameDecoder(() -> 1 << 20));
    decoder.writeInbound(
        Frames.encode(
            UnpooledByteBufAllocator.DEFAULT, ApiKind.NETWORK_FAULTS, false, 1, header, null));
    Frame frame = decoder.readInbound();
    RecordingResponder responder = new RecordingResponder();
    try {
      new NetworkFaultsHandler(1, allowed, faults, id -> id == 2 || id == 3)
          .handle(
              new RequestContext(new FakeConnection(), ApiKind.NETWORK_FAULTS, frame, 0),
              responder);
    } finally {
      frame.release();
      decoder.finishAndReleaseAll();
    }
    return (NetworkFaultsResponse) responder.header;
  }

  private static NetworkFaultsRequest replace(PeerFaults... peers) {
    return NetworkFaultsRequest.newBuilder()
        .setAction(FaultsAction.FAULTS_REPLACE)
        .addAllFaults(java.util.List.of(peers))
        .build();
  }

  @Test
  void areSetReadAndCleared() {
    NetworkFaultsResponse set = handle(true, replace(SLOW_FROM_3, CUT_TO_2));
    assertThat(set.getBrokerId()).isEqualTo(1);
    assertThat(set.getFaultsList()).containsExactly(CUT_TO_2, SLOW_FROM_3);
    assertThat(faults.inForce())
        .containsEntry(2, new Link(Flow.CUT, Flow.SOUND))
        .containsEntry(3, new Link(Flow.SOUND, new Flow(false, 50, 5, 1.5)))
        .hasSize(2);

    assertThat(handle(true, NetworkFaultsRequest.getDefaultInstance()).getFaultsList())
        .containsExactly(CUT_TO_2, SLOW_FROM_3);

    assertThat(handle(true, replace(CUT_TO_2)).getFaultsList()).containsExactly(CUT_TO_2);
    assertThat(handle(true, replace()).getFaultsList()).isEmpty();
    assertThat(faults.inForce()).isEmpty();
  }

  @Test
  void areRefusedUnlessTheConfigurationAllowsThem() {
    for (NetworkFaultsRequest request :
        new NetworkFaultsRequest[] {
          replace(CUT_TO_2), replace(), NetworkFaultsRequest.getDefaultInstance()
        }) {
      assertRefused(false, request, ErrorCode.REFUSED, "faults.allowed=true");
    }
    assertThat(faults.inForce()).isEmpty();
  }

  @Test
  void wrongOnesChangeNothing() {
    handle(true, replace(CUT_TO_2));
    PeerFaults.Builder late = PeerFaults.newBuilder().setBrokerId(3);
    late.getToBuilder().setLatencyMillis(10_001);
    PeerFaults.Builder lossy = PeerFaults.newBuilder().setBrokerId(3);
    lossy.getFromBuilder().setLossPercent(120);

    assertRefused(
        true,
        replace(SLOW_FROM_3, late.build()),
        ErrorCode.MALFORMED_REQUEST,
        "broker 3: latency of 10001 ms is not in 0 to 10000 ms");
    assertRefused(
        true,
        replace(lossy.build()),
        ErrorCode.MALFORMED_REQUEST,
        "broker 3: loss of 120.0 % is not in 0 to 100 %");
    assertRefused(
        true,
        replace(SLOW_FROM_3, SLOW_FROM_3),
        ErrorCode.MALFORMED_REQUEST,
        "broker 3 is named twice");
    assertRefused(
        true,
        replace(PeerFaults.newBuilder().setBrokerId(1).build()),
        ErrorCode.REFUSED,
        "broker 1 has no network to itself");
    assertRefused(
        true,
        replace(PeerFaults.newBuilder().setBrokerId(4).build()),
        ErrorCode.REFUSED,
        "broker 1 has no network to broker 4, which it does not know");
    assertRefused(
        true,
        NetworkFaultsRequest.newBuilder().setActionValue(7).build(),
        ErrorCode.MALFORMED_REQUEST,
        "action 7 is not known here");
    assertThat(faults.inForce()).containsOnlyKeys(2);
  }

  private void assertRefused(
      boolean allowed, NetworkFaultsRequest request, ErrorCode code, String text) {
    assertThatThrownBy(() -> handle(allowed, request))
        .isInstanceOfSatisfying(
            RequestRefusedException.class, refused -> assertThat(refused.code()).isEqualTo(code))
        .hasMessageContaining(text);
  }
}
