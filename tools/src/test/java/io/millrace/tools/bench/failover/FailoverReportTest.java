package io.millrace.tools.bench.failover;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.error.Outcome;
import io.millrace.tools.Output;
import io.millrace.tools.load.LoadVerifier;
import io.millrace.tools.load.Violation;
import io.millrace.tools.records.Outcomes;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class FailoverReportTest {
  private static FailoverBench.Plan plan(Fault fault) {
    return new FailoverBench.Plan(
        fault,
        1_000,
        Duration.ofSeconds(10),
        Duration.ofSeconds(8),
        Duration.ofSeconds(5),
        Duration.ofSeconds(90));
  }

  private static LoadVerifier.Counts counts(long acked, Map<Violation, Long> violations) {
    return new LoadVerifier.Counts(
        acked + 3, acked, 1, 2, 0, 1, 1, 0, acked + 1, 0, true, violations);
  }

  private static FailoverRun run(
      int number, long gapMillis, Map<Violation, Long> violations, StaleCheck.Result stale) {
    return new FailoverRun(
        number,
        2,
        number == 1,
        3,
        new AckGaps(gapMillis * 1_000_000, -4_560_000, 21_000_000, false),
        true,
        (gapMillis + 50) * 1_000_000,
        101,
        1_500_000_000,
        new FailoverRun.Traffic(103, 100, 1, 2),
        counts(100, violations),
        List.of(new Outcomes.Failure(ErrorCode.DISCONNECTED, Outcome.UNKNOWN, 2, 7, "gone")),
        List.of(),
        stale);
  }

  private static JsonObject json(Fault fault, FailoverRun... runs) {
    var bytes = new ByteArrayOutputStream();
    new Output(Output.Form.json, new PrintStream(bytes, true, StandardCharsets.UTF_8))
        .fields(FailoverReport.fields(plan(fault), "always", List.of(runs), false));
    return JsonParser.parseString(bytes.toString(StandardCharsets.UTF_8)).getAsJsonObject();
  }

  @Test
  void jsonHasEveryRunAndTheFiguresOfAll() {
    JsonObject json =
        json(
            Fault.kill,
            run(1, 1_000, Map.of(), null),
            run(2, 3_000, Map.of(), null),
            run(3, 2_000, Map.of(Violation.LOST, 4L), null));

    assertThat(json.get("fault").getAsString()).isEqualTo("kill");
    assertThat(json.get("fsync").getAsString()).isEqualTo("always");
    assertThat(json.get("runsDone").getAsInt()).isEqualTo(3);
    assertThat(json.get("violations").getAsInt()).isEqualTo(1);
    assertThat(json.has("pausedMillis")).isFalse();
    assertThat(json.getAsJsonArray("runs")).hasSize(3);
    assertThat(json.getAsJsonArray("runs").get(0))
        .isEqualTo(
            JsonParser.parseString(
                """
                {"run":1,"broker":2,"metadataLeader":true,"newLeader":3,"gapMillis":1000.0,
                 "gapBeganMillis":-4.6,"beforeMillis":21.0,"maxAckMillis":1050.0,
                 "syncMillis":1500.0,"sent":103,"acked":100,"notDone":1,"unknown":2,
                 "unknownStored":1,"readBack":101,"errors":["DISCONNECTED unknown 2"],
                 "violations":[]}
                """));
    assertThat(
            json.getAsJsonArray("runs")
                .get(2)
                .getAsJsonObject()
                .getAsJsonArray("violations")
                .get(0)
                .getAsString())
        .startsWith("4 lost");
    assertThat(json.getAsJsonArray("figures").get(0))
        .isEqualTo(
            JsonParser.parseString(
                """
                {"figure":"gapMillis","min":1000.0,"median":2000.0,"p90":3000.0,"max":3000.0}
                """));
  }

  @Test
  void aPauseShowsWhatTheOldLeaderSaid() {
    JsonObject json =
        json(Fault.pause, run(1, 1_000, Map.of(), new StaleCheck.Result(20, 0, 17, 2, 1, 1)));

    JsonObject run = json.getAsJsonArray("runs").get(0).getAsJsonObject();
    assertThat(json.get("pausedMillis").getAsLong()).isEqualTo(5_000);
    assertThat(run.get("probes").getAsInt()).isEqualTo(20);
    assertThat(run.get("probesRefused").getAsInt()).isEqualTo(17);
    assertThat(run.get("probesUnknown").getAsInt()).isEqualTo(2);
    assertThat(run.get("lateReceipts").getAsInt()).isEqualTo(1);
    assertThat(run.get("staleAcks").getAsInt()).isEqualTo(1);
    assertThat(run.getAsJsonArray("violations").get(0).getAsString())
        .startsWith("1 acknowledged by the old leader in its old term");
  }

  @Test
  void peopleGetFewerColumnsOfTheSameRuns() {
    var runs = List.of(run(1, 1_000, Map.of(), new StaleCheck.Result(20, 0, 17, 2, 1, 0)));

    var rows =
        (Output.Rows) FailoverReport.fields(plan(Fault.pause), "always", runs, true).get("runs");

    assertThat(rows.columns())
        .containsExactly(
            "run",
            "broker",
            "newLeader",
            "gapMillis",
            "gapBeganMillis",
            "beforeMillis",
            "maxAckMillis",
            "syncMillis",
            "acked",
            "notDone",
            "unknown",
            "probes",
            "staleAcks",
            "errors",
            "violations");
    assertThat(rows.lines()).hasSize(1);
  }

  @Test
  void withoutARunThereAreNoFigures() {
    JsonObject json = json(Fault.restart);

    assertThat(json.getAsJsonArray("runs")).isEmpty();
    assertThat(json.getAsJsonArray("figures")).isEmpty();
  }

  @Test
  void whatIsWrongOrDoubtfulIsNotGood() {
    assertThat(run(1, 1, Map.of(), null).good()).isTrue();
    assertThat(run(1, 1, Map.of(Violation.DOUBLED, 1L), null).good()).isFalse();
    assertThat(run(1, 1, Map.of(), new StaleCheck.Result(1, 0, 0, 0, 0, 1)).good()).isFalse();
    assertThat(run(1, 1, Map.of(), new StaleCheck.Result(1, 0, 1, 0, 5, 0)).good()).isTrue();
    assertThat(FailoverReport.line(run(3, 1_234, Map.of(), null), 20))
        .isEqualTo(
            "run 3 of 20: broker 2, longest gap 1234 ms (before the fault 21 ms), 100 acked,"
                + " 1 not done, 2 unknown, in sync after 1.5 s");
  }
}
