package io.millrace.tools.bench.partitions;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.millrace.tools.CommandFailure;
import org.junit.jupiter.api.Test;

class ProcTextTest {
  private static final String STAT =
      "4711 (java) 1 (x) S 1 4711 4711 0 -1 1077936128 90001 12 3 0 1234 567 8 9 20 0 61 0 98765"
          + " 4123456789 54321 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0"
          + " 0 0 0\n";
  private static final String STATUS =
      """
      Name:\tjava
      State:\tS (sleeping)
      VmPeak:\t 4123456 kB
      VmRSS:\t  217284 kB
      RssAnon:\t  190000 kB
      Threads:\t61
      voluntary_ctxt_switches:\t15
      nonvoluntary_ctxt_switches:\t3
      """;

  @Test
  void cpuIsUserAndSystemTimeWhateverTheName() {
    assertThat(ProcText.cpuTicks(STAT)).isEqualTo(1234 + 567);
  }

  @Test
  void aFieldIsFoundByItsWholeName() {
    assertThat(ProcText.field(STATUS, "VmRSS")).isEqualTo(217_284);
    assertThat(ProcText.field(STATUS, "Threads")).isEqualTo(61);
    assertThat(ProcText.field(STATUS, "voluntary_ctxt_switches")).isEqualTo(15);
    assertThat(ProcText.field(STATUS, "nonvoluntary_ctxt_switches")).isEqualTo(3);
  }

  @Test
  void whatIsNotThereIsNamed() {
    assertThatThrownBy(() -> ProcText.field(STATUS, "write_bytes"))
        .isInstanceOf(CommandFailure.class)
        .hasMessageContaining("write_bytes")
        .hasMessageContaining("there is no such line");
    assertThatThrownBy(() -> ProcText.field("VmRSS:\tmuch kB\n", "VmRSS"))
        .isInstanceOf(CommandFailure.class)
        .hasMessageContaining("'much' is no number");
    assertThatThrownBy(() -> ProcText.cpuTicks("1 (a) S 1 2"))
        .isInstanceOf(CommandFailure.class)
        .hasMessageContaining("only 3 fields");
  }
}
