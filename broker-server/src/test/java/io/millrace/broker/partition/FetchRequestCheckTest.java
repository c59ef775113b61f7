package io.millrace.broker.partition;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.protocol.message.FetchPartition;
import io.millrace.protocol.message.FetchRequest;
import io.millrace.protocol.message.Isolation;
import org.junit.jupiter.api.Test;

class FetchRequestCheckTest {

  private static FetchRequest.Builder request() {
    return FetchRequest.newBuilder().addPartitions(FetchPartition.newBuilder().setPosition(3));
  }

  private static String refusal(FetchRequest.Builder request) {
    var error = FetchRequestCheck.refusal(request.build(), new FetchLimits(2, 100, 100));
    return error == null ? null : error.getText();
  }

  @Test
  void anOrdinaryRequestPasses() {
    assertThat(refusal(request().setMaxBytes(10).setPrefetchRecords(5))).isNull();
  }

  @Test
  void aRefusalNamesFieldValueAndLimit() {
    assertThat(refusal(FetchRequest.newBuilder()))
        .isEqualTo("fetch of 0 partitions; it must be 1 to 2");
    assertThat(refusal(request().setMaxBytes(-1)))
        .isEqualTo("max_bytes is -1; it must be 0 or more");
    assertThat(refusal(request().addPartitions(FetchPartition.newBuilder().setMaxBytes(-7))))
        .isEqualTo("max_bytes of a partition is -7; it must be 0 or more");
  }

  @Test
  void whatIsOnlyReservedIsRefused() {
    assertThat(refusal(request().setIsolation(Isolation.READ_COMMITTED_TRANSACTIONS)))
        .contains("no transactions yet");
    assertThat(refusal(request().setGroup("g"))).contains("no groups yet");
    assertThat(refusal(request().addPartitions(FetchPartition.newBuilder().setClaimEpoch(5))))
        .contains("claim_epoch is 5");
  }
}
