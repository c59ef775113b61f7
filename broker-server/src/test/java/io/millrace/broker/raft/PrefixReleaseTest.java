package io.millrace.broker.raft;

import static org.assertj.core.api.Assertions.assertThat;

import com.alipay.sofa.jraft.Closure;
import com.alipay.sofa.jraft.Status;
import com.alipay.sofa.jraft.closure.SaveSnapshotClosure;
import com.alipay.sofa.jraft.core.NodeImpl;
import com.alipay.sofa.jraft.entity.RaftOutter.SnapshotMeta;
import com.alipay.sofa.jraft.storage.snapshot.SnapshotReader;
import com.alipay.sofa.jraft.storage.snapshot.SnapshotWriter;
import com.google.protobuf.ByteString;
import com.google.protobuf.Message;
import io.millrace.broker.log.DiskSpace;
import io.millrace.broker.log.FsyncPolicy;
import io.millrace.broker.log.LogConfig;
import io.millrace.broker.log.LogEntry;
import io.millrace.broker.log.LogIdentity;
import io.millrace.broker.log.LogListener;
import io.millrace.broker.log.PartitionLog;
import io.millrace.broker.log.RecoveryHint;
import io.millrace.broker.log.SimulatedDisk;
import io.millrace.broker.log.TestBatches;
import io.millrace.broker.raft.message.Checkpoint;
import io.millrace.broker.raft.message.ConfigurationAt;
import io.millrace.broker.raft.message.GroupConfiguration;
import io.millrace.broker.raft.storage.CheckpointSnapshotStorage;
import io.millrace.broker.raft.storage.CheckpointStore;
import io.millrace.broker.raft.storage.GroupConfigurations;
import io.millrace.broker.raft.storage.SegmentLogStorage;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The order in which a log lets go of its begin, with JRaft's part played by the test. */
@Timeout(30)
class PrefixReleaseTest {

  private static final Path DIRECTORY = Path.of("/data/t-0");
  private static final DeleteDelay NO_DELAY = new DeleteDelay(0, 0);
  private static final long TERM = 1;

  private final SimulatedDisk disk = new SimulatedDisk(1);
  private final GroupConfigurations configurations = new GroupConfigurations();
  private CheckpointSnapshotStorage snapshots;
  private PartitionLog log;
  private SegmentLogStorage storage;
  private CheckpointStore checkpoints;
  private PrefixRelease release;
  private FakeNode node;
  private int agains;

  /** Does what SnapshotExecutorImpl and LogManagerImpl do; its log thread runs when told. */
  private final class FakeNode extends NodeImpl {
    long applied;
    long lastSnapshot;
    long pendingFirst;
    int asked;

    FakeNode() {
      super();
    }

    @Override
    public void snapshot(Closure done) {
      asked++;
      if (applied == lastSnapshot) {
        pendingFirst = lastSnapshot + 1;
        done.run(Status.OK());
        return;
      }
      SnapshotMeta present = CheckpointSnapshotStorage.meta(applied, TERM, null);
      SnapshotWriter writer = new MetaWriter(present);
      SnapshotMeta[] started = {present};
      release.save(
          writer,
          new SaveSnapshotClosure() {
            @Override
            public SnapshotWriter start(SnapshotMeta meta) {
              started[0] = meta;
              return writer;
            }

            @Override
            public void run(Status status) {
              if (status.isOk()) {
                assertThat(snapshots.create().saveMeta(started[0])).isTrue();
                if (lastSnapshot > 0) {
                  pendingFirst = lastSnapshot + 1;
                }
                lastSnapshot = started[0].getLastIncludedIndex();
              }
              done.run(status);
            }
          });
    }

    void logThreadRuns() {
      if (pendingFirst > 0) {
        storage.truncatePrefix(pendingFirst);
        pendingFirst = 0;
      }
    }
  }

  private static final class MetaWriter extends SnapshotWriter {
    private final SnapshotMeta present;

    MetaWriter(SnapshotMeta present) {
      this.present = present;
    }

    @Override
    public SnapshotMeta getCurrentMeta() {
      return present;
    }

    @Override
    public boolean init(Void none) {
      return true;
    }

    @Override
    public void shutdown() {}

    @Override
    public boolean saveMeta(SnapshotMeta meta) {
      return true;
    }

    @Override
    public boolean addFile(String fileName, Message fileMeta) {
      return false;
    }

    @Override
    public boolean removeFile(String fileName) {
      return false;
    }

    @Override
    public String getPath() {
      return "";
    }

    @Override
    public Set<String> listFiles() {
      return Set.of();
    }

    @Override
    public Message getFileMeta(String fileName) {
      return null;
    }

    @Override
    public void close() {}

    @Override
    public void close(boolean keepDataOnError) {}
  }

  @BeforeEach
  void start() throws IOException {
    open(null);
    configurations.add(
        ConfigurationAt.newBuilder()
            .setIndex(1)
            .setTerm(TERM)
            .setConfiguration(GroupConfiguration.newBuilder().addPeers("b1:0"))
            .build());
  }

  private void open(Checkpoint checkpoint) throws IOException {
    log =
        PartitionLog.open(
            disk,
            DIRECTORY,
            new LogIdentity("c", new UUID(1, 2), 0),
            new LogConfig(FsyncPolicy.ALWAYS, 0, 1100),
            RecoveryHint.NONE,
            LogListener.NONE);
    checkpoints = CheckpointStore.open(disk, DIRECTORY);
    snapshots = new CheckpointSnapshotStorage(checkpoint);
    storage = new SegmentLogStorage("g", log, checkpoint, configurations, () -> {}, this::failed);
    storage.load();
    DiskSpace space =
        new DiskSpace(disk, Path.of("/data"), new DiskSpace.Limits(1 << 20, 1 << 19, 1 << 18));
    Checkpointer checkpointer =
        new Checkpointer(
            "g",
            log,
            checkpoints,
            configurations,
            RaftSettings.defaults(),
            checkpoint == null ? 0 : checkpoint.getIndex(),
            space,
            () -> ByteString.copyFromUtf8("state"),
            () -> 0,
            this::failed);
    release =
        new PrefixRelease("g", log, storage, snapshots, checkpoints, checkpointer, configurations);
    node = new FakeNode();
    node.lastSnapshot = checkpoint == null ? 0 : checkpoint.getIndex();
    node.applied = log.lastIndex();
  }

  private void failed(Exception cause) {
    throw new AssertionError(cause);
  }

  @AfterEach
  void stop() throws IOException {
    log.close();
  }

  /** Three to a segment, one record each. */
  private void append(int count) throws IOException {
    for (int i = 0; i < count; i++) {
      log.append(
          List.of(new LogEntry(log.lastIndex() + 1, TERM, TestBatches.records(1, 300, 1000, i))));
    }
    node.applied = log.lastIndex();
  }

  private void pass(long logStart) throws IOException {
    release.pass(node, logStart, node.applied, NO_DELAY, () -> agains++);
  }

  /** As the driver does: another look whenever one can do more. */
  private void passUntilQuiet(long logStart) throws IOException {
    int seen;
    do {
      seen = agains;
      pass(logStart);
      node.logThreadRuns();
    } while (agains != seen);
  }

  @Test
  void jraftKeepsExactlyWhatTheFilesKeep() throws IOException {
    append(14);
    passUntilQuiet(7);
    assertThat(log.firstIndex()).isEqualTo(7);
    assertThat(storage.firstIndexOfRaft()).isEqualTo(7);
    assertThat(node.asked).isEqualTo(2);
    assertThat(checkpoints.oldestIndex()).isGreaterThanOrEqualTo(6);
    SnapshotReader reader = snapshots.open();
    assertThat(reader.load().getLastIncludedIndex()).isEqualTo(7);
    assertThat(reader.load().getPeersList()).containsExactly("b1:0");
    assertThat(reader.generateURIForCopy()).isEqualTo(CheckpointSnapshotStorage.URI);

    append(6);
    passUntilQuiet(12);
    assertThat(log.firstIndex()).isEqualTo(13);
    assertThat(storage.firstIndexOfRaft()).isEqualTo(13);
    assertThat(node.asked).isEqualTo(4);
  }

  @Test
  void anIdleLogIsEmptied() throws IOException {
    append(5);
    passUntilQuiet(5);
    assertThat(log.firstIndex()).isEqualTo(6);
    assertThat(log.lastIndex()).isEqualTo(5);
    assertThat(storage.firstIndexOfRaft()).isEqualTo(6);
    assertThat(checkpoints.oldestIndex()).isEqualTo(5);
    int asked = node.asked;
    passUntilQuiet(5);
    assertThat(node.asked).isEqualTo(asked);
  }

  /**
   * Each question is an event in the ring of that thread; a full ring makes JRaft refuse entries.
   */
  @Test
  void aBusyLogThreadIsNotAskedAgain() throws IOException {
    append(14);
    for (int i = 0; i < 50; i++) {
      pass(7);
    }
    assertThat(node.asked).isEqualTo(2);
    assertThat(log.firstIndex()).as("not before JRaft knows").isEqualTo(1);
    node.logThreadRuns();
    pass(7);
    assertThat(log.firstIndex()).isEqualTo(7);
  }

  @Test
  void nothingAboveWhatIsAppliedOrCheckpointedGoes() throws IOException {
    append(14);
    node.applied = 4;
    passUntilQuiet(12);
    assertThat(log.firstIndex()).isEqualTo(4);
    assertThat(checkpoints.newestIndex()).isEqualTo(4);
    node.applied = 14;
    passUntilQuiet(12);
    assertThat(log.firstIndex()).isEqualTo(13);
    assertThat(checkpoints.oldestIndex()).isGreaterThanOrEqualTo(12);
  }

  /** JRaft begins with the checkpoint then, and can save no snapshot below it. */
  @Test
  void afterARestartJRaftLetsGoOfMoreThanTheFilesDo() throws IOException {
    append(14);
    Checkpoint checkpoint =
        Checkpoint.newBuilder()
            .setIndex(13)
            .setTerm(TERM)
            .addConfigurations(
                ConfigurationAt.newBuilder()
                    .setIndex(1)
                    .setTerm(TERM)
                    .setConfiguration(GroupConfiguration.newBuilder().addPeers("b1:0")))
            .build();
    checkpoints.write(checkpoint);
    log.close();
    open(checkpoint);
    passUntilQuiet(7);
    assertThat(log.firstIndex()).isEqualTo(7);
    assertThat(storage.firstIndexOfRaft()).isEqualTo(14);
    assertThat(node.asked).isEqualTo(1);
    assertThat(checkpoints.oldestIndex()).isGreaterThanOrEqualTo(13);
  }

  @Test
  void anEntryThatIsAppliedAndNotYetWrittenIsWaitedFor() throws IOException {
    append(6);
    node.applied = 9; // By the others' disks.
    passUntilQuiet(6);
    assertThat(log.firstIndex()).isEqualTo(1);
    assertThat(checkpoints.newestIndex()).isZero();
    append(3);
    passUntilQuiet(6);
    assertThat(log.firstIndex()).isEqualTo(7);
  }

  @Test
  void aReleaseThatEndedDoesNothing() throws IOException {
    append(14);
    release.stop();
    passUntilQuiet(12);
    assertThat(node.asked).isZero();
    assertThat(log.firstIndex()).isEqualTo(1);
  }
}
