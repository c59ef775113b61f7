package io.millrace.broker.partition;

import static io.millrace.broker.partition.PartitionFixture.code;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.ByteString;
import io.millrace.broker.raft.ProposalCallback;
import io.millrace.broker.state.BatchId;
import io.millrace.broker.state.UnknownControlEntryException;
import io.millrace.broker.state.message.LogStartEntry;
import io.millrace.broker.state.message.PartitionImage;
import io.millrace.broker.state.message.TimeEntry;
import io.millrace.protocol.batch.BatchHeader;
import io.millrace.protocol.batch.ControlBatch;
import io.millrace.protocol.batch.ControlType;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.message.OffsetKind;
import io.millrace.protocol.message.ProduceResult;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(20)
class PartitionTest {

  @TempDir private Path directory;

  private PartitionFixture fixture;

  @BeforeEach
  void open() {
    fixture = new PartitionFixture(directory);
  }

  @AfterEach
  void close() {
    fixture.close();
    assertThat(fixture.faults).isEmpty();
    assertThat(fixture.budget.usedBytes()).isZero();
  }

  private static ByteBuffer noOp() {
    return ControlBatch.encode(ControlType.NO_OP.code(), new byte[0]);
  }

  // ------------------------------------------------------------------------------------ offsets

  @Test
  void offsetsAreDenseAndControlEntriesTakeNone() {
    fixture.raft.lead(1);
    assertThat(fixture.store(3)).isZero();
    fixture.raft.commitForeign(noOp(), ControlBatch.encode(ControlType.CONF.code(), new byte[4]));
    assertThat(fixture.store(2)).isEqualTo(3);
    assertThat(fixture.store(1)).isEqualTo(5);
    assertThat(fixture.partition.committedEnd()).isEqualTo(6);
    assertThat(fixture.log.logEnd()).isEqualTo(6);
    assertThat(fixture.partition.readableEnd()).isEqualTo(6);
  }

  @Test
  void offsetsComeFromCountingAndNotFromTheProposersHeader() {
    fixture.raft.lead(1);
    ByteBuffer batch = Batches.plain(2, 10);
    BatchHeader.patch(batch, 12345, 99);
    CompletableFuture<ProduceResult> result = fixture.produce(batch);
    fixture.raft.commitAll();
    assertThat(result.join().getBaseOffset()).isZero();
    assertThat(result.join().getTerm()).isEqualTo(1);
  }

  @Test
  void anAcknowledgedRecordIsCommittedWhenItsReceiptComes() {
    fixture.raft.lead(1);
    CompletableFuture<Long> endAtReceipt = new CompletableFuture<>();
    fixture
        .produce(Batches.plain(4, 10))
        .thenRun(() -> endAtReceipt.complete(fixture.partition.committedEnd()));
    fixture.raft.commitAll();
    assertThat(endAtReceipt).isCompletedWithValue(4L);
  }

  @Test
  void theReadableEndWaitsForTheLocalWrite() {
    fixture.raft.lead(1);
    fixture.raft.writeBeforeApply = false;
    fixture.store(4);
    assertThat(fixture.partition.committedEnd()).isEqualTo(4);
    assertThat(fixture.partition.readableEnd()).isZero();
    fixture.raft.writeLog();
    assertThat(fixture.partition.readableEnd()).isEqualTo(4);
  }

  @Test
  void offsetsThatDifferFromTheLogStopTheReplica() {
    fixture.raft.lead(1);
    fixture.store(4);
    Partition other = fixture.newPartition();
    assertThatThrownBy(() -> other.applyBatchEnd(fixture.log.lastIndex()))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("offset 0 was counted")
        .hasMessageContaining("the log has 4");
    assertThat(fixture.faults).hasSize(1);
    assertThat(fixture.counters.value(PartitionCounters.Counter.FAULTS)).isEqualTo(1);
    fixture.faults.clear();
  }

  @Test
  void anUnknownControlEntryStopsTheReplicaAndChangesNothing() {
    fixture.raft.lead(1);
    fixture.store(2);
    ByteString before = fixture.partition.checkpoint();
    for (short type : new short[] {1005, 1006, 1010, 1001, 1019, 1025, 999}) {
      ByteBuffer entry = ControlBatch.encode(type, new byte[0]);
      assertThatThrownBy(() -> fixture.partition.apply(9, 1, entry, null))
          .isInstanceOf(UnknownControlEntryException.class)
          .hasMessageContaining("upgrade this broker");
    }
    ByteBuffer garbage = ControlBatch.encode(ControlType.TIME.code(), new byte[] {-1, -1});
    assertThatThrownBy(() -> fixture.partition.apply(9, 1, garbage, null))
        .isInstanceOf(UnknownControlEntryException.class);
    assertThat(fixture.partition.checkpoint()).isEqualTo(before);
  }

  @Test
  void aHandleOfAnotherStateMachineIsNotTouched() {
    ProposalCallback foreign =
        failure -> {
          throw new AssertionError("not ours");
        };
    fixture.partition.apply(1, 1, Batches.plain(1, 1), foreign);
    fixture.partition.apply(2, 1, noOp(), foreign);
    assertThat(fixture.partition.committedEnd()).isEqualTo(1);
  }

  @Test
  void theLogStartMovesUpOnly() {
    fixture.raft.lead(1);
    fixture.store(10);
    fixture.raft.commitForeign(logStart(4));
    assertThat(fixture.partition.logStart()).isEqualTo(4);
    fixture.raft.commitForeign(logStart(2));
    assertThat(fixture.partition.logStart()).isEqualTo(4);
    assertThat(fixture.list(OffsetKind.OFFSET_EARLIEST, 0).getOffset()).isEqualTo(4);
    assertThatThrownBy(() -> fixture.partition.apply(9, 1, logStart(11), null))
        .hasMessageContaining("beyond the end 10");
  }

  private static ByteBuffer logStart(long offset) {
    return ControlBatch.encode(
        ControlType.LOG_START, LogStartEntry.newBuilder().setLogStart(offset).build());
  }

  // ---------------------------------------------------------------------------------- checkpoint

  @Test
  void stateFromImageAndTailEqualsStateFromTheWholeLog() {
    fixture.raft.lead(1);
    ByteString image = null;
    for (int i = 0; i < 12; i++) {
      fixture.produce(new BatchId(i % 3, (short) 0, i / 3 * 2, i / 3 * 2 + 1));
      fixture.clock.millis += 700;
      fixture.raft.commitAll();
      if (i == 5) {
        image = fixture.partition.checkpoint();
      }
    }
    int imageIndex = indexOfImage(image);
    Partition replayed = fixture.newPartition();
    Partition restored = fixture.newPartition();
    restored.restore(image, imageIndex, 1);
    for (FakeRaft.Entry entry : fixture.raft.committed()) {
      replayed.apply(entry.index(), entry.term(), entry.batch().duplicate(), null);
      if (entry.index() > imageIndex) {
        restored.apply(entry.index(), entry.term(), entry.batch().duplicate(), null);
      }
    }
    restored.applyBatchEnd(fixture.log.lastIndex());
    assertThat(replayed.checkpoint()).isEqualTo(fixture.partition.checkpoint());
    assertThat(restored.checkpoint()).isEqualTo(fixture.partition.checkpoint());
    assertThat(restored.committedEnd()).isEqualTo(24);
  }

  private int indexOfImage(ByteString image) {
    Partition probe = fixture.newPartition();
    for (FakeRaft.Entry entry : fixture.raft.committed()) {
      probe.apply(entry.index(), entry.term(), entry.batch().duplicate(), null);
      if (probe.checkpoint().equals(image)) {
        return (int) entry.index();
      }
    }
    throw new AssertionError("no prefix of the log has this image");
  }

  @Test
  void aRestoredReplicaAnswersDuplicatesAndGoesOnInLogTime() {
    fixture.raft.lead(1);
    BatchId id = new BatchId(5, (short) 0, 0, 1);
    fixture.produce(id);
    fixture.raft.commitAll();
    Partition restored = fixture.newPartition();
    restored.restore(fixture.partition.checkpoint(), fixture.raft.committed().size(), 1);
    fixture.raft.attach(restored);
    fixture.raft.lead(2);
    CompletableFuture<ProduceResult> retry = new CompletableFuture<>();
    ByteBuffer batch = Batches.of(id, 20);
    restored.produce(Batches.request(fixture.id, batch).build(), batch, retry::complete);
    assertThat(retry.join().getDuplicate()).isTrue();
    ByteBuffer next = Batches.of(new BatchId(5, (short) 0, 2, 2), 20);
    restored.produce(Batches.request(fixture.id, next).build(), next, r -> {});
    assertThat(fixture.raft.inFlight()).as("no TIME entry is due").isEqualTo(1);
    fixture.raft.commitAll();
    assertThat(restored.committedEnd()).isEqualTo(3);
  }

  @Test
  void onlyAFreshReplicaIsRestoredAndOnlyFromWhatItKnows() {
    fixture.raft.lead(1);
    fixture.store(1);
    ByteString image = fixture.partition.checkpoint();
    assertThatThrownBy(() -> fixture.partition.restore(image, 2, 1))
        .isInstanceOf(IllegalStateException.class);
    ByteString newer = PartitionImage.newBuilder().setVersion(2).build().toByteString();
    assertThatThrownBy(() -> fixture.newPartition().restore(newer, 2, 1))
        .hasMessageContaining("version 2");
    assertThatThrownBy(
            () -> fixture.newPartition().restore(ByteString.copyFromUtf8("garbage"), 2, 1))
        .isInstanceOf(IllegalStateException.class);
  }

  @Test
  void logTimeOfAnEntryIsReadableWithoutAPartition() {
    ByteBuffer time =
        ControlBatch.encode(ControlType.TIME, TimeEntry.newBuilder().setLogTimeMillis(77).build());
    assertThat(Partition.logTimeOf(time)).isEqualTo(77);
    assertThat(Partition.logTimeOf(noOp())).isEqualTo(-1);
  }

  // --------------------------------------------------------------------------------- listOffsets

  @Test
  void theCommittedEndIsGivenBeforeTheLocalWrite() {
    fixture.raft.lead(3);
    fixture.raft.writeBeforeApply = false;
    fixture.store(4);
    assertThat(fixture.list(OffsetKind.OFFSET_LATEST, 0).getOffset()).isEqualTo(4);
    assertThat(fixture.list(OffsetKind.OFFSET_LATEST, 0).getTerm()).isEqualTo(3);
    assertThat(fixture.list(OffsetKind.OFFSET_EARLIEST, 0).getOffset()).isZero();
    fixture.raft.writeLog();
  }

  @Test
  void latestIsRefusedWhereItCouldBeOld() {
    fixture.raft.lead(1);
    fixture.store(4);
    fixture.raft.quorumContact = false;
    assertThat(code(fixture.list(OffsetKind.OFFSET_LATEST, 0))).isEqualTo(ErrorCode.NOT_READY);
    assertThat(code(fixture.list(OffsetKind.OFFSET_TIMESTAMP, Long.MAX_VALUE)))
        .isEqualTo(ErrorCode.NOT_READY);
    assertThat(fixture.list(OffsetKind.OFFSET_EARLIEST, 0).getOffset()).isZero();
    fixture.raft.quorumContact = true;
    fixture.raft.stepDown(2, 0);
    assertThat(code(fixture.list(OffsetKind.OFFSET_LATEST, 0))).isEqualTo(ErrorCode.NOT_LEADER);
    assertThat(code(fixture.list(OffsetKind.OFFSET_EARLIEST, 0))).isEqualTo(ErrorCode.NOT_LEADER);
    fixture.raft.elect(5);
    assertThat(code(fixture.list(OffsetKind.OFFSET_LATEST, 0))).isEqualTo(ErrorCode.NOT_READY);
    fixture.raft.lead(5);
    assertThat(fixture.list(OffsetKind.OFFSET_LATEST, 0).getOffset()).isEqualTo(4);
  }

  @Test
  void anOffsetIsFoundByTime() {
    fixture.raft.lead(1);
    fixture.store(4);
    assertThat(fixture.list(OffsetKind.OFFSET_TIMESTAMP, Batches.TIMESTAMP).getOffset()).isZero();
    assertThat(fixture.list(OffsetKind.OFFSET_TIMESTAMP, Batches.TIMESTAMP).getTimestamp())
        .isEqualTo(Batches.TIMESTAMP);
    assertThat(fixture.list(OffsetKind.OFFSET_TIMESTAMP, Batches.TIMESTAMP + 1).getOffset())
        .isEqualTo(4);
    assertThat(fixture.list(OffsetKind.OFFSET_TIMESTAMP, Batches.TIMESTAMP + 1).getTimestamp())
        .isEqualTo(-1);
  }

  // ---------------------------------------------------------------------------------- life cycle

  @Test
  void aReplicaThatFailedSaysSo() {
    fixture.raft.lead(1);
    CompletableFuture<ProduceResult> inFlight = fixture.produce(Batches.plain(1, 1));
    fixture.partition.failed("disk is gone");
    assertThat(inFlight.join().getError().getCode()).isEqualTo(ErrorCode.OUTCOME_UNKNOWN.number());
    ProduceResult refused = fixture.produce(Batches.plain(1, 1)).join();
    assertThat(refused.getError().getCode()).isEqualTo(ErrorCode.STORAGE_ERROR.number());
    assertThat(refused.getError().getText()).contains("disk is gone");
    assertThat(code(fixture.list(OffsetKind.OFFSET_EARLIEST, 0)))
        .isEqualTo(ErrorCode.STORAGE_ERROR);
  }

  @Test
  void statusShowsTheReplica() {
    fixture.raft.lead(6);
    fixture.store(4);
    fixture.produce(new BatchId(5, (short) 0, 0, 1));
    PartitionStatus status = fixture.partition.status();
    assertThat(status.leadingTerm()).isEqualTo(6);
    assertThat(status.committedEnd()).isEqualTo(4);
    assertThat(status.logEnd()).isEqualTo(4);
    assertThat(status.inFlightEntries()).isEqualTo(1);
    assertThat(status.inFlightBytes()).isPositive();
    assertThat(status.producers()).isZero();
    fixture.raft.commitAll();
    assertThat(fixture.partition.status().producers()).isEqualTo(1);
  }
}
