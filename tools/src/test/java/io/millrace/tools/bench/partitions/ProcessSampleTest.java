package io.millrace.tools.bench.partitions;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.tools.bench.partitions.ProcessSample.Switches;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

class ProcessSampleTest {
  @TempDir private Path proc;

  private void write(String file, String text) throws IOException {
    Path path = proc.resolve(file);
    Files.createDirectories(path.getParent());
    Files.writeString(path, text);
  }

  private static String switches(int voluntary, int involuntary) {
    return "Name:\tx\nvoluntary_ctxt_switches:\t"
        + voluntary
        + "\nnonvoluntary_ctxt_switches:\t"
        + involuntary
        + "\n";
  }

  @Test
  void aProcessIsReadFromItsFiles() throws IOException {
    write("77/stat", "77 (java) S 1 1 1 0 -1 0 0 0 0 0 150 50 0 0 20 0 2 0 9 9 9\n");
    write("77/status", "VmRSS:\t 1000 kB\nThreads:\t2\n");
    write("77/io", "rchar: 5\nwchar: 6\nread_bytes: 0\nwrite_bytes: 8192\n");
    write("77/task/77/status", switches(10, 1));
    write("77/task/78/status", switches(20, 2));
    // A thread that ended after the directory was listed.
    Files.createDirectories(proc.resolve("77/task/79"));

    ProcessSample sample = ProcessSample.take(proc, 77);

    assertThat(sample.cpuTicks()).isEqualTo(200);
    assertThat(sample.rssBytes()).isEqualTo(1_024_000);
    assertThat(sample.threads()).isEqualTo(2);
    assertThat(sample.diskWriteBytes()).isEqualTo(8_192);
    assertThat(sample.switches())
        .isEqualTo(Map.of(77L, new Switches(10, 1), 78L, new Switches(20, 2)));
  }

  @Test
  void useIsTheDifferencePerSecond() {
    var then =
        new ProcessSample(
            0, 200, 1, 3, 0, Map.of(1L, new Switches(10, 1), 2L, new Switches(500, 500)));
    var now =
        new ProcessSample(
            4_000_000_000L, 220, 1, 3, 0, Map.of(1L, new Switches(30, 2), 3L, new Switches(7, 8)));

    // 0.2 s of 4 s. Thread 2 has ended; thread 3 is new.
    assertThat(now.cpuPercentSince(then)).isEqualTo(5.0);
    assertThat(now.switchesSince(then)).isEqualTo(new Switches(27, 9));
    assertThat(now.secondsSince(then)).isEqualTo(4.0);
  }

  @Test
  @EnabledOnOs(OS.LINUX)
  void thisProcessCanBeRead() throws IOException {
    assertThat(ProcessSample.isSupported()).isTrue();

    ProcessSample self = ProcessSample.take(ProcessSample.PROC, ProcessHandle.current().pid());

    assertThat(self.threads()).isPositive();
    assertThat(self.rssBytes()).isGreaterThan(1 << 20);
    assertThat(self.cpuTicks()).isPositive();
    assertThat(self.switches()).hasSizeGreaterThan(1);
  }
}
