package io.millrace.client.producer;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import io.millrace.client.ProducerConfig;
import io.millrace.client.ProducerRecord;
import io.millrace.client.internal.Ticks;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

class LaneStateTest {
  private static final int WINDOW = 5;
  private static final long PRODUCER_ID = 7;
  private static final byte[] VALUE = new byte[600];
  private static final int BATCH_BYTES = 1_000;

  private final PartitionLane lane =
      new PartitionLane(
          "t",
          ByteString.EMPTY,
          0,
          BATCH_BYTES,
          new ProducerConfig().withLingerMillis(0).withBatchBytes(BATCH_BYTES),
          new MemoryBudget(Long.MAX_VALUE));

  /** Each record makes a batch of its own. */
  private void append(int records) {
    for (int i = 0; i < records; i++) {
      lane.append(
          ProducerRecord.of("t", VALUE),
          VALUE.length,
          0,
          Ticks.now(),
          new CompletableFuture<>(),
          true,
          false);
    }
  }

  private ProducerBatch next() {
    ProducerBatch batch = lane.state.next(Ticks.now(), Ticks.now(), WINDOW, PRODUCER_ID);
    if (batch != null) {
      lane.state.sent(batch, new ProduceAttempt(1, List.of(batch), 0, null));
    }
    return batch;
  }

  private List<ProducerBatch> sendAll() {
    var sent = new ArrayList<ProducerBatch>();
    for (ProducerBatch batch = next(); batch != null; batch = next()) {
      sent.add(batch);
    }
    return sent;
  }

  @Test
  void theOldestUndecidedBatchStaysAmongTheLastThatABrokerRemembers() {
    append(20);
    List<ProducerBatch> sent = sendAll();
    assertThat(sent).hasSize(WINDOW);

    // Later ones are decided before it: no more may follow, or it could never be repeated.
    sent.subList(1, WINDOW).forEach(lane.state::stored);
    assertThat(sendAll()).isEmpty();

    lane.state.stored(sent.get(0));
    assertThat(sendAll()).hasSize(WINDOW);
  }

  @Test
  void endedBatchesDoNotHideWhatTheLastAttemptMet() {
    append(2);
    List<ProducerBatch> sent = sendAll();
    sent.forEach(batch -> lane.state.failed(batch, true, false, "connection refused"));

    lane.state.endedForGood(sent.get(0), "not acknowledged; last: connection refused");

    assertThat(lane.state.lastFailure()).isEqualTo("connection refused");
  }
}
