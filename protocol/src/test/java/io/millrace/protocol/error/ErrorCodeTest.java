package io.millrace.protocol.error;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class ErrorCodeTest {

  /** Numbers and outcomes are on the wire: a line here may be added, never changed. */
  private static final List<String> GOLDEN =
      """
      0 NONE DONE
      1 SERVER_ERROR UNKNOWN
      2 CORRUPT_BATCH NOT_DONE
      3 UNKNOWN_TOPIC NOT_DONE
      4 UNKNOWN_PARTITION NOT_DONE
      5 RECORD_TOO_LARGE NOT_DONE
      6 NOT_LEADER NOT_DONE retriable
      7 NOT_READY NOT_DONE retriable
      8 THROTTLED NOT_DONE retriable
      9 REQUEST_TIMEOUT UNKNOWN retriable
      10 OUTCOME_UNKNOWN UNKNOWN retriable
      11 OUT_OF_ORDER_SEQUENCE NOT_DONE retriable
      12 SEQUENCE_BELOW_WINDOW UNKNOWN
      13 UNKNOWN_PRODUCER NOT_DONE
      14 PRODUCER_FENCED NOT_DONE
      15 UNSUPPORTED_MAGIC NOT_DONE
      16 INVALID_BATCH NOT_DONE
      17 UNKNOWN_API NOT_DONE
      18 UNSUPPORTED_VERSION NOT_DONE
      19 MALFORMED_REQUEST NOT_DONE
      20 FRAME_TOO_LARGE NOT_DONE
      21 OFFSET_OUT_OF_RANGE NOT_DONE
      22 LOG_TRUNCATED NOT_DONE
      23 TOPIC_EXISTS NOT_DONE
      24 INVALID_TOPIC_NAME NOT_DONE
      25 INVALID_SETTING NOT_DONE
      26 IN_PROGRESS UNKNOWN
      27 NO_METADATA_LEADER NOT_DONE retriable
      28 DISK_FULL NOT_DONE retriable
      29 STORAGE_ERROR NOT_DONE retriable
      30 CLUSTER_MISMATCH NOT_DONE
      31 INCARNATION_MISMATCH NOT_DONE
      32 NOT_ENOUGH_BROKERS NOT_DONE
      33 STALE_TERM NOT_DONE retriable
      34 SHUTTING_DOWN NOT_DONE retriable
      35 UNAUTHENTICATED NOT_DONE
      36 REFUSED NOT_DONE
      1000 BUFFER_FULL NOT_DONE retriable
      1001 NOT_SENT_IN_TIME NOT_DONE
      1002 DELIVERY_TIMEOUT UNKNOWN
      1003 CLIENT_CLOSED NOT_DONE
      1004 UNREACHABLE NOT_DONE retriable
      1005 DISCONNECTED UNKNOWN retriable
      1006 INTERRUPTED UNKNOWN
      1007 INVALID_ARGUMENT NOT_DONE
      1008 UNREADABLE_BATCH NOT_DONE
      """
          .lines()
          .toList();

  @Test
  void numbersOutcomesAndRetriesAreTheGoldenList() {
    List<String> actual =
        Arrays.stream(ErrorCode.values())
            .map(
                c -> c.number() + " " + c + " " + c.outcome() + (c.retriable() ? " retriable" : ""))
            .toList();
    assertThat(actual).isEqualTo(GOLDEN);
  }

  @Test
  void numbersAreUnique() {
    assertThat(Arrays.stream(ErrorCode.values()).map(ErrorCode::number)).doesNotHaveDuplicates();
  }

  @ParameterizedTest
  @EnumSource(ErrorCode.class)
  void everyCodeIsFoundByItsNumberAndSaysWhatToDo(ErrorCode code) {
    assertThat(ErrorCode.of(code.number())).isSameAs(code);
    assertThat(code.outcome()).isNotNull();
    assertThat(code.advice()).hasSizeGreaterThan(10).endsWith(".").doesNotContain("\n");
  }

  @ParameterizedTest
  @ValueSource(ints = {-1, 37, 63, 64, 999, 1009, Integer.MAX_VALUE, Integer.MIN_VALUE})
  void unknownNumberLeavesTheOutcomeOpen(int number) {
    assertThat(ErrorCode.of(number)).isSameAs(ErrorCode.SERVER_ERROR);
    assertThat(ErrorCode.of(number).outcome()).isEqualTo(Outcome.UNKNOWN);
  }

  @Test
  void tableInTheDocumentationIsTheSameList() throws Exception {
    String expected =
        Arrays.stream(ErrorCode.values())
            .map(
                c ->
                    String.format(
                        "| %d | %s | %s | %s | %s |",
                        c.number(),
                        c,
                        c.outcome().name().toLowerCase().replace('_', ' '),
                        c.retriable() ? "yes" : "no",
                        c.advice()))
            .collect(Collectors.joining("\n"));
    assertThat(Files.readString(Path.of("..", "docs", "inside", "protocol.md"))).contains(expected);
  }

  @Test
  void exceptionCarriesTheCodeAndNamesIt() {
    MillraceException e = new MillraceException(ErrorCode.NOT_LEADER, "broker 2 leads topic-0");
    assertThat(e).hasMessage("NOT_LEADER: broker 2 leads topic-0");
    assertThat(e.code()).isEqualTo(ErrorCode.NOT_LEADER);
    assertThat(e.outcome()).isEqualTo(Outcome.NOT_DONE);
    assertThat(e.retriable()).isTrue();
    assertThat(MillraceException.of(ErrorCode.THROTTLED.toInfo("")))
        .hasMessage("THROTTLED: " + ErrorCode.THROTTLED.advice());
    assertThat(MillraceException.of(ErrorCode.DISK_FULL.toInfo("3 bytes left")).code())
        .isEqualTo(ErrorCode.DISK_FULL);
  }
}
