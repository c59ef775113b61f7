package io.millrace.tools.local;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.millrace.protocol.message.FlowFaults;
import io.millrace.protocol.message.PeerFaults;
import io.millrace.tools.CommandFailure;
import io.millrace.tools.UsageFailure;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

class FaultPlanTest {
  private static final List<Integer> THREE = List.of(1, 2, 3);
  private static final FlowFaults CUT = FlowFaults.newBuilder().setDropped(true).build();
  private static final FlowFaults SLOW =
      FlowFaults.newBuilder().setLatencyMillis(50).setJitterMillis(5).setLossPercent(1).build();

  private static PeerFaults both(int peer, FlowFaults flow) {
    return PeerFaults.newBuilder().setBrokerId(peer).setTo(flow).setFrom(flow).build();
  }

  @Test
  void isolationIsMadeByTheIsolatedBroker() {
    FaultPlan plan = FaultPlan.isolate(THREE, 2);

    assertThat(plan.perBroker()).containsOnlyKeys(2);
    assertThat(plan.perBroker().get(2)).containsExactly(both(1, CUT), both(3, CUT));
  }

  @Test
  void aSplitIsMadeByTheSmallerSide() {
    assertThat(FaultPlan.split(THREE, "3, 1/2").perBroker())
        .containsOnlyKeys(2)
        .containsEntry(2, List.of(both(1, CUT), both(3, CUT)));
    assertThat(FaultPlan.split(List.of(1, 2, 3, 4, 5), "1,4/2,3,5").perBroker())
        .containsOnlyKeys(1, 4)
        .containsEntry(1, List.of(both(2, CUT), both(3, CUT), both(5, CUT)))
        .containsEntry(4, List.of(both(2, CUT), both(3, CUT), both(5, CUT)));
  }

  @ParameterizedTest
  @CsvSource({"1>2", "1:2", "' 1 > 2 '"})
  void oneWayIsMadeByTheSender(String text) {
    assertThat(FaultPlan.oneWay(THREE, text).perBroker())
        .containsOnlyKeys(1)
        .containsEntry(1, List.of(PeerFaults.newBuilder().setBrokerId(2).setTo(CUT).build()));
  }

  @Test
  void slownessIsThatOfTheNamedBroker() {
    assertThat(FaultPlan.slow(THREE, 3, 50, 5, FaultPlan.percent("1%")).perBroker())
        .containsOnlyKeys(3)
        .containsEntry(3, List.of(both(1, SLOW), both(2, SLOW)));
    assertThat(FaultPlan.percent("0.5")).isEqualTo(0.5);
    assertThat(FaultPlan.percent("100 %")).isEqualTo(100);
  }

  static List<Arguments> wrong() {
    return List.of(
        split("1/1,2", "split '1/1,2' has broker 1 on both sides; name it once"),
        split("1,2", "has not two sides; write it as 1/2,3"),
        split("1/2/3", "has not two sides; write it as 1/2,3"),
        split("1,2,3/", "has '' for a broker"),
        split("1/2,x", "has 'x' for a broker"),
        split("1/2", "split '1/2' leaves out broker 3; put each broker of the cluster on one side"),
        split("1,1/2,3", "has broker 1 twice"),
        split("1/2,3,4", "there is no broker 4; this cluster has 1, 2, 3; nothing was changed"),
        oneWay(null, "one-way lacks FROM>TO; write it as '1>2', in quotes"),
        oneWay("1", "one-way '1' is not FROM>TO"),
        oneWay("1>2>3", "one-way '1>2>3' is not FROM>TO"),
        oneWay("2>2", "names one broker twice"),
        oneWay("1>9", "there is no broker 9"),
        Arguments.of(
            "isolate 0", (Runnable) () -> FaultPlan.isolate(THREE, 0), "there is no broker 0"),
        Arguments.of(
            "isolate of one",
            (Runnable) () -> FaultPlan.isolate(List.of(1), 1),
            "this cluster has one broker"),
        Arguments.of(
            "slow 4", (Runnable) () -> FaultPlan.slow(THREE, 4, 0, 0, 0), "there is no broker 4"),
        Arguments.of(
            "latency",
            (Runnable) () -> FaultPlan.slow(THREE, 1, 10_001, 0, 0),
            "--latency 10001ms is above the limit of 10000ms"),
        Arguments.of(
            "jitter",
            (Runnable) () -> FaultPlan.slow(THREE, 1, 0, 10_001, 0),
            "--jitter 10001ms is above the limit of 10000ms"),
        percent("120%", "--loss 120% is not in 0% to 100%"),
        percent("-1%", "--loss '-1%' is not a percentage; write it as 1% or 0.5%"),
        percent("much", "--loss 'much' is not a percentage"));
  }

  private static Arguments split(String text, String expected) {
    return Arguments.of("split " + text, (Runnable) () -> FaultPlan.split(THREE, text), expected);
  }

  private static Arguments oneWay(String text, String expected) {
    return Arguments.of(
        "one-way " + text, (Runnable) () -> FaultPlan.oneWay(THREE, text), expected);
  }

  private static Arguments percent(String text, String expected) {
    return Arguments.of("loss " + text, (Runnable) () -> FaultPlan.percent(text), expected);
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("wrong")
  void isRefusedWithWhatToWrite(String name, Runnable plan, String expected) {
    assertThatThrownBy(plan::run)
        .isInstanceOfAny(UsageFailure.class, CommandFailure.class)
        .hasMessageContaining(expected);
  }

  @Test
  void faultsAddUp() {
    FlowFaults slowAndCut = SLOW.toBuilder().setDropped(true).build();
    PeerFaults oneWay = PeerFaults.newBuilder().setBrokerId(2).setTo(CUT).build();

    List<PeerFaults> slow = FaultPlan.merged(List.of(), List.of(both(2, SLOW), both(3, SLOW)));
    List<PeerFaults> more = FaultPlan.merged(slow, List.of(oneWay));
    List<PeerFaults> faster =
        FaultPlan.merged(more, List.of(both(2, FlowFaults.getDefaultInstance())));

    assertThat(slow).containsExactly(both(2, SLOW), both(3, SLOW));
    assertThat(more)
        .containsExactly(
            PeerFaults.newBuilder().setBrokerId(2).setTo(slowAndCut).setFrom(SLOW).build(),
            both(3, SLOW));
    assertThat(faster.get(0).getTo()).isEqualTo(CUT);
    assertThat(faster.get(0).getFrom()).isEqualTo(FlowFaults.getDefaultInstance());
    assertThat(faster.get(1)).isEqualTo(both(3, SLOW));
  }
}
