package io.millrace.broker.raft.refill;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.broker.log.FsyncPolicy;
import io.millrace.broker.log.LogConfig;
import io.millrace.broker.log.LogEntry;
import io.millrace.broker.log.LogIdentity;
import io.millrace.broker.log.LogListener;
import io.millrace.broker.log.PartitionLog;
import io.millrace.broker.log.RecoveryHint;
import io.millrace.broker.log.SimulatedDisk;
import io.millrace.broker.log.TestBatches;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Test;

class ReplicaSourceTest {

  private static final Path DIRECTORY = Path.of("/data/topics/t-0");

  private final SimulatedDisk disk = new SimulatedDisk(1);

  /**
   * Two followers have written the leader's first entry, so it is committed and applied, and the
   * leader's own disk is late. Its table of terms still says that the newest entries are of the
   * term before, and another log would agree with it where it does not.
   */
  @Test
  void aLeaderThatHasNotWrittenAnEntryOfItsTermIsNoSourceYet() throws IOException {
    try (PartitionLog log =
        PartitionLog.open(
            disk,
            DIRECTORY,
            new LogIdentity("cluster-1", new UUID(7, 8), 0),
            new LogConfig(FsyncPolicy.OS, 0, 1 << 20),
            RecoveryHint.NONE,
            LogListener.NONE)) {
      log.append(List.of(entry(1, 4), entry(2, 4)));
      ReplicaSource source =
          new ReplicaSource(
              disk, group -> new ReplicaSource.Source(log, true, true, 5, 5, 4, failure -> {}));
      assertThat(source.state("g").getLeads()).isFalse();
      assertThat(source.state("g").getVotes()).isTrue();

      log.append(List.of(entry(3, 5)));
      assertThat(source.state("g").getLeads()).isTrue();
      assertThat(source.state("g").getLastIndex()).isEqualTo(4);
    }
  }

  private static LogEntry entry(long index, long term) {
    return new LogEntry(index, term, TestBatches.records(1, 100, index, index));
  }
}
