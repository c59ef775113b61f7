package io.millrace.tools.bench.partitions;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.error.Outcome;
import io.millrace.tools.Output;
import io.millrace.tools.records.Outcomes;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class PartitionsReportTest {
  private static final AckEach.Result ALL = new AckEach.Result(5, 5, 0, 40_000_000, List.of());

  private static PartitionsResult result(PartitionsResult.Kill kill) {
    return new PartitionsResult(
        5,
        1,
        3,
        400_000_000,
        500_000_000,
        ALL,
        540_000_000,
        Map.of(
            1,
            new BrokerSample.Usage(
                60.01,
                2.341,
                61,
                300L << 20,
                -1,
                812.34,
                1.0,
                30.0,
                Map.of("RAFT", 29.5, "METADATA", 0.5),
                2_048,
                1_024,
                10_240)),
        kill);
  }

  private static JsonObject json(PartitionsResult result) {
    var bytes = new ByteArrayOutputStream();
    new Output(Output.Form.json, new PrintStream(bytes, true, StandardCharsets.UTF_8))
        .fields(PartitionsReport.fields(result));
    return JsonParser.parseString(bytes.toString(StandardCharsets.UTF_8)).getAsJsonObject();
  }

  @Test
  void jsonHasTheTimesAndEachBroker() {
    JsonObject json = json(result(null));

    assertThat(json.get("createReturnedMillis").getAsDouble()).isEqualTo(400);
    assertThat(json.get("allLedMillis").getAsDouble()).isEqualTo(500);
    assertThat(json.get("ackedOnEachMillis").getAsDouble()).isEqualTo(540);
    assertThat(json.getAsJsonArray("idle").get(0))
        .isEqualTo(
            JsonParser.parseString(
                """
                {"broker":1,"seconds":60.0,"cpuPercent":2.34,"threads":61,"rssMib":300.0,
                 "heapMib":null,"waitsPerSecond":812.3,"preemptionsPerSecond":1.0,
                 "requestsPerSecond":30.0,"inKibPerSecond":2.0,"outKibPerSecond":1.0,
                 "diskWriteKib":10}
                """));
    assertThat(json.getAsJsonArray("idleRequests")).hasSize(2);
    assertThat(json.has("killedBroker")).isFalse();
    assertThat(result(null).good()).isTrue();
  }

  @Test
  void aKillAddsItsTimes() {
    var acked =
        new AckEach.Result(
            5,
            3,
            1,
            1_000_000_000,
            List.of(new Outcomes.Failure(ErrorCode.DISCONNECTED, Outcome.UNKNOWN, 1, 0, "gone")));
    PartitionsResult result =
        result(
            new PartitionsResult.Kill(
                2,
                true,
                3,
                List.of(1_500_000_000L, 1_700_000_000L),
                1,
                acked,
                3_000_000_000L,
                4_000_000_000L));

    JsonObject json = json(result);

    assertThat(json.get("killedBroker").getAsInt()).isEqualTo(2);
    assertThat(json.get("killedLed").getAsInt()).isEqualTo(3);
    assertThat(json.get("withoutLeader").getAsInt()).isEqualTo(1);
    assertThat(json.get("ledAgainMedianMillis").getAsDouble()).isEqualTo(1_600);
    assertThat(json.get("ledAgainMaxMillis").getAsDouble()).isEqualTo(1_700);
    assertThat(json.get("ackedOnEachAfterKillMillis").getAsDouble()).isEqualTo(3_000);
    assertThat(json.getAsJsonArray("errorsAfterKill")).hasSize(2);
    assertThat(json.get("inSyncAfterStartMillis").getAsDouble()).isEqualTo(4_000);
    assertThat(result.good()).isFalse();
  }
}
