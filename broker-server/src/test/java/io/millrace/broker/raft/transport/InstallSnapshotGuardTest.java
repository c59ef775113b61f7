package io.millrace.broker.raft.transport;

import static org.assertj.core.api.Assertions.assertThat;

import com.alipay.sofa.jraft.entity.RaftOutter.SnapshotMeta;
import com.alipay.sofa.jraft.rpc.RpcRequests.InstallSnapshotRequest;
import com.alipay.sofa.jraft.rpc.RpcRequests.InstallSnapshotResponse;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class InstallSnapshotGuardTest {

  private final List<String> behind = new ArrayList<>();
  private long lastIndex = 50;

  private final InstallSnapshotGuard guard =
      new InstallSnapshotGuard(
          new InstallSnapshotGuard.Log() {
            @Override
            public boolean has(long index, long term) {
              return index <= lastIndex && term == 3;
            }

            @Override
            public long currentTerm() {
              return 4;
            }

            @Override
            public void tooFarBehind(String reason) {
              behind.add(reason);
            }
          });

  private InstallSnapshotResponse answer(long leaderTerm, long index, long term) {
    return guard.answer(
        InstallSnapshotRequest.newBuilder()
            .setGroupId("g")
            .setServerId("b1:0:0")
            .setPeerId("b2:0:0")
            .setTerm(leaderTerm)
            .setMeta(
                SnapshotMeta.newBuilder().setLastIncludedIndex(index).setLastIncludedTerm(term))
            .setUri("checkpoint")
            .build());
  }

  @Test
  void aReplicaThatLacksTheEntryIsTooFarBehind() {
    InstallSnapshotResponse response = answer(4, 80, 3);
    assertThat(response.getSuccess()).isFalse();
    assertThat(behind).singleElement().asString().contains("entry 80");
  }

  @Test
  void afterTheRefillTheSameMessageSucceeds() {
    lastIndex = 120;
    InstallSnapshotResponse response = answer(5, 80, 3);
    assertThat(response.getSuccess()).isTrue();
    assertThat(response.getTerm()).isEqualTo(5);
    assertThat(behind).isEmpty();
  }

  @Test
  void anOldLeaderIsNotBelieved() {
    InstallSnapshotResponse response = answer(3, 80, 3);
    assertThat(response.getSuccess()).isFalse();
    assertThat(response.getTerm()).isEqualTo(4);
    assertThat(behind).isEmpty();
  }
}
