package io.millrace.broker.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.ByteString;
import io.millrace.broker.cluster.message.MetadataCommand;
import io.millrace.protocol.batch.ControlBatch;
import io.millrace.protocol.batch.ControlType;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class MetadataGroupTest {

  private final MetadataGroup group = new MetadataGroup();

  private void apply(long index, MetadataCommand command) {
    group.apply(index, 1, MetadataCommands.toBatch(command), null);
  }

  @Test
  void listenersAreToldOncePerRunOfEntries() {
    AtomicInteger told = new AtomicInteger();
    group.addListener(told::incrementAndGet);
    apply(3, Commands.register(1));
    apply(4, Commands.register(2));
    assertThat(told).hasValue(0);
    group.applyBatchEnd(4);
    group.applyBatchEnd(4);
    assertThat(told).hasValue(1);
    assertThat(group.state().index()).isEqualTo(4);
    assertThat(group.state().brokers()).hasSize(2);
  }

  @Test
  void aCheckpointHoldsTheWholeState() {
    apply(3, Commands.register(1));
    apply(4, Commands.create("a", new UUID(7, 1), List.of(1)));
    ByteString image = group.checkpoint();
    MetadataGroup restored = new MetadataGroup();
    restored.restore(image, 9, 2);
    assertThat(restored.state()).isEqualTo(group.state());
    // Clients compare this index over brokers: it is the command's, not the checkpoint's.
    assertThat(restored.state().index()).isEqualTo(4);
    assertThat(restored.checkpoint()).isEqualTo(image);
  }

  @Test
  void aCheckpointThatIsNewerThanItsIndexStopsTheReplica() {
    apply(8, Commands.register(1));
    ByteString image = group.checkpoint();
    assertThatThrownBy(() -> new MetadataGroup().restore(image, 7, 1))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("8")
        .hasMessageContaining("7");
  }

  @Test
  void aRestartedReplicaShowsNothingOlderThanBefore() {
    apply(3, Commands.register(1));
    ByteString older = group.checkpoint();
    apply(4, Commands.register(2));
    apply(5, Commands.create("a", new UUID(7, 1), List.of(1)));
    MetadataState before = group.state();
    group.failed("disk gone");
    group.replicaRestarts();
    assertThat(group.failure()).isNull();
    assertThat(group.state()).isSameAs(before);
    group.restore(older, 3, 1);
    assertThat(group.checkpoint()).isEqualTo(older);
    assertThat(group.state()).isSameAs(before);
    apply(4, Commands.register(2));
    assertThat(group.state()).isSameAs(before);
    apply(5, Commands.create("a", new UUID(7, 1), List.of(1)));
    assertThat(group.state()).isEqualTo(before);
    apply(6, Commands.register(3));
    assertThat(group.state().brokers()).hasSize(3);
  }

  @Test
  void aNoOpChangesNothing() {
    MetadataState before = group.state();
    group.apply(
        1, 1, ControlBatch.encode(ControlType.NO_OP, MetadataCommand.getDefaultInstance()), null);
    assertThat(group.state()).isSameAs(before);
  }

  @Test
  void entriesOfAnotherKindStopTheReplica() {
    ByteBuffer time =
        ControlBatch.encode(ControlType.TIME.code(), ByteString.copyFromUtf8("whatever"));
    assertThatThrownBy(() -> group.apply(1, 1, time, null))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("1003");
    ByteBuffer damaged = MetadataCommands.toBatch(Commands.register(1));
    damaged.put(damaged.limit() - 3, (byte) (damaged.get(damaged.limit() - 3) ^ 1));
    assertThatThrownBy(() -> group.apply(1, 1, damaged, null))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("unreadable");
    assertThatThrownBy(() -> apply(1, MetadataCommand.getDefaultInstance()))
        .isInstanceOf(IllegalArgumentException.class);
    assertThat(group.state()).isSameAs(MetadataState.EMPTY);
  }

  @Test
  void entriesAreReadableInsideALargerBuffer() {
    ByteBuffer batch = MetadataCommands.toBatch(Commands.register(1));
    ByteBuffer larger = ByteBuffer.allocate(batch.remaining() + 20);
    larger.position(10);
    larger.put(batch).flip().position(10);
    group.apply(1, 1, larger.asReadOnlyBuffer(), null);
    assertThat(group.state().broker(1)).isNotNull();
  }

  @Test
  void proposalsAreRefusedWithoutLeadership() {
    ProposalOutcome outcome = group.propose(Commands.register(1)).join();
    assertThat(outcome)
        .isInstanceOfSatisfying(
            ProposalOutcome.Failed.class,
            f -> assertThat(f.failure().certainlyNotAppended()).isTrue());
  }

  @Test
  void aFailedReplicaLeadsNoMore() {
    group.leaderChanged(1, 3);
    group.leaderStarted(3);
    assertThat(group.isReady()).isTrue();
    group.failed("disk gone");
    assertThat(group.isReady()).isFalse();
    assertThat(group.leader()).isZero();
    assertThat(group.failure()).isEqualTo("disk gone");
  }
}
