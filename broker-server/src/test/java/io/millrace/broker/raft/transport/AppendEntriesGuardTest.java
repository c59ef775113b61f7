package io.millrace.broker.raft.transport;

import static org.assertj.core.api.Assertions.assertThat;

import com.alipay.sofa.jraft.entity.EnumOutter.EntryType;
import com.alipay.sofa.jraft.entity.RaftOutter.EntryMeta;
import com.alipay.sofa.jraft.rpc.RpcRequests.AppendEntriesRequest;
import com.google.protobuf.ByteString;
import io.millrace.protocol.batch.ControlBatch;
import io.millrace.protocol.batch.ControlType;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class AppendEntriesGuardTest {

  /** Terms of the entries from index 1 on. */
  private final List<Long> log = new ArrayList<>(List.of(1L, 1L, 2L, 2L));

  private long appliedIndex = 3;
  private long currentTerm = 2;
  private final List<String> divergences = new ArrayList<>();

  private final AppendEntriesGuard guard =
      new AppendEntriesGuard(
          new AppendEntriesGuard.Applied() {
            @Override
            public long appliedIndex() {
              return appliedIndex;
            }

            @Override
            public long termAt(long index) {
              return index >= 1 && index <= log.size() ? log.get((int) index - 1) : 0;
            }

            @Override
            public long currentTerm() {
              return currentTerm;
            }
          },
          divergences::add);

  @Test
  void entriesThatAgreeWithWhatWasAppliedPass() {
    assertThat(guard.refusal(request(2, 1, 1, 1L, 2L, 2L).build())).isNull();
    assertThat(divergences).isEmpty();
  }

  @Test
  void anotherTermAtAnAppliedEntryIsDivergence() {
    String refusal = guard.refusal(request(3, 2, 1, 3L).build());
    assertThat(refusal)
        .contains("entry 3 is committed here in term 2")
        .contains("has it in term 3")
        .contains("b2:0:0");
    assertThat(divergences).containsExactly(refusal);
  }

  @Test
  void anotherTermBeforeTheFirstEntryIsDivergenceToo() {
    assertThat(guard.refusal(request(3, 3, 1).build())).contains("entry 3");
    assertThat(divergences).hasSize(1);
  }

  @Test
  void aConflictAboveTheAppliedIndexIsOrdinaryRaft() {
    assertThat(guard.refusal(request(3, 3, 2, 3L).build())).isNull();
    assertThat(divergences).isEmpty();
  }

  @Test
  void aStaleLeaderIsLeftToJRaft() {
    assertThat(guard.refusal(request(1, 2, 1, 1L).build())).isNull();
    assertThat(divergences).isEmpty();
  }

  @Test
  void aDamagedBatchIsRefusedAndTheReplicaLivesOn() {
    ByteBuffer batch = ControlBatch.encode(ControlType.NO_OP.code(), new byte[] {1, 2, 3});
    AppendEntriesRequest.Builder whole = request(2, 4, 2);
    whole.addEntries(data(2, batch.remaining())).setData(ByteString.copyFrom(batch.duplicate()));
    assertThat(guard.refusal(whole.build())).isNull();

    for (int bit = 17 * 8; bit < batch.remaining() * 8; bit++) {
      byte[] damaged = new byte[batch.remaining()];
      batch.duplicate().get(damaged);
      damaged[bit / 8] ^= (byte) (1 << bit % 8);
      AppendEntriesRequest request =
          request(2, 4, 2)
              .addEntries(data(2, damaged.length))
              .setData(ByteString.copyFrom(damaged))
              .build();
      assertThat(guard.refusal(request)).as("bit %d", bit).contains("entry 5 was damaged");
    }
    assertThat(divergences).isEmpty();
  }

  @Test
  void lengthsBeyondTheDataAreRefused() {
    AppendEntriesRequest request =
        request(2, 4, 2)
            .addEntries(data(2, 100))
            .setData(ByteString.copyFrom(new byte[99]))
            .build();
    assertThat(guard.refusal(request)).contains("claims 100 bytes, 99 are left");
  }

  private static EntryMeta data(long term, int length) {
    return EntryMeta.newBuilder()
        .setTerm(term)
        .setType(EntryType.ENTRY_TYPE_DATA)
        .setDataLen(length)
        .build();
  }

  /** A request of the leader of {@code term} whose entries follow {@code prevIndex}. */
  private static AppendEntriesRequest.Builder request(
      long term, long prevIndex, long prevTerm, Long... terms) {
    AppendEntriesRequest.Builder request =
        AppendEntriesRequest.newBuilder()
            .setGroupId("g")
            .setServerId("b2:0:0")
            .setPeerId("b1:0:0")
            .setTerm(term)
            .setPrevLogIndex(prevIndex)
            .setPrevLogTerm(prevTerm)
            .setCommittedIndex(0);
    for (Long entryTerm : terms) {
      request.addEntries(
          EntryMeta.newBuilder()
              .setTerm(entryTerm)
              .setType(EntryType.ENTRY_TYPE_CONFIGURATION)
              .addPeers("b1:0:0"));
    }
    return request;
  }
}
