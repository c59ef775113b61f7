package io.millrace.broker.partition;

import static io.millrace.broker.partition.FetchFixture.request;
import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.broker.partition.FetchFixture.Fetch;
import io.millrace.broker.partition.PartitionCounters.Counter;
import io.millrace.protocol.batch.ControlBatch;
import io.millrace.protocol.batch.ControlType;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.message.FetchRequest;
import io.millrace.protocol.message.RequestContext;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** When a fetch waits, and what ends the wait. */
@Timeout(30)
class LongPollTest {

  @TempDir private Path directory;

  private FetchFixture fixture;
  private PartitionFixture first;
  private PartitionFixture second;
  private final List<Fetch> fetches = new ArrayList<>();

  @BeforeEach
  void open() {
    open(new FetchBudget(1 << 20, 100));
  }

  private void open(FetchBudget budget) {
    fixture = new FetchFixture(directory.resolve("w" + budget.maxWaiting()), 2, budget);
    first = fixture.get(0);
    second = fixture.get(1);
  }

  @AfterEach
  void close() {
    fixture.close();
    fetches.stream().filter(Fetch::done).forEach(fetch -> fetch.answer.release());
    assertThat(fixture.budget.responseBytes()).isZero();
    assertThat(fixture.budget.waiting()).isZero();
    assertThat(first.partition.status().waitingFetches()).isZero();
    assertThat(second.partition.status().waitingFetches()).isZero();
  }

  private Fetch fetch(FetchRequest.Builder request) {
    Fetch fetch = fixture.fetch(request);
    fetches.add(fetch);
    return fetch;
  }

  private Fetch fetchBoth() {
    return fetch(request(first.from(0), second.from(0)));
  }

  private long parked() {
    return fixture.counters.value(Counter.FETCHES_PARKED);
  }

  @Test
  void aFetchWithNothingToReadWaitsForACommitInAnyOfItsPartitions() {
    Fetch fetch = fetchBoth();
    assertThat(fetch.done()).isFalse();
    assertThat(fixture.budget.waiting()).isEqualTo(1);
    second.produce(Batches.plain(2, 10));
    assertThat(fetch.done()).as("not before the commit").isFalse();
    second.raft.commitAll();
    assertThat(fetch.done()).isTrue();
    assertThat(fetch.result(0).getSize()).isZero();
    assertThat(fetch.result(1).getDeliverUpTo()).isEqualTo(2);
    assertThat(parked()).isEqualTo(1);
    assertThat(fixture.timer.waiting()).isZero();
  }

  @Test
  void oneRunOfEntriesWakesOnceWithAllOfThem() {
    Fetch fetch = fetchBoth();
    first.produce(Batches.plain(2, 10));
    first.produce(Batches.plain(3, 10));
    first.raft.commitAll();
    assertThat(fetch.result(0).getDeliverUpTo()).isEqualTo(5);
  }

  @Test
  void controlEntriesWakeNobody() {
    List<String> looked = new ArrayList<>();
    FetchWaiter waiter =
        new FetchWaiter() {
          @Override
          public void dataArrived() {
            looked.add("data");
          }

          @Override
          public void stateChanged() {
            looked.add("state");
          }
        };
    first.partition.addWaiter(waiter);
    first.raft.commitForeign(ControlBatch.encode(ControlType.NO_OP.code(), new byte[0]));
    assertThat(looked).isEmpty();
    first.store(1);
    assertThat(looked).containsExactly("data");
    first.raft.stepDown(2, 0);
    assertThat(looked).containsExactly("data", "state");
    first.partition.shutDown();
    assertThat(looked).containsExactly("data", "state", "state");
    first.partition.removeWaiter(waiter);
  }

  @Test
  void theTimeEndsTheWaitWithTheEndsOfThePartitions() {
    first.store(3);
    Fetch fetch = fetch(request(first.from(3), second.from(0)));
    fixture.timer.advance(499);
    assertThat(fetch.done()).isFalse();
    fixture.timer.advance(1);
    assertThat(fetch.done()).isTrue();
    assertThat(fetch.answer.slices()).isEmpty();
    assertThat(fetch.result(0).getCommittedEnd()).isEqualTo(3);
    assertThat(fetch.result(0).getDeliverUpTo()).isEqualTo(3);
    assertThat(fetch.requestCode()).isEqualTo(ErrorCode.NONE);
    assertThat(fixture.counters.value(Counter.FETCHES_EXPIRED)).isEqualTo(1);
  }

  @Test
  void aFetchThatMayNotWaitIsAnsweredAtOnce() {
    assertThat(fetch(request(first.from(0)).setMaxWaitMillis(0)).done()).isTrue();
    assertThat(parked()).isZero();
  }

  @Test
  void theDeadlineOfTheRequestEndsTheWaitToo() {
    Fetch fetch =
        fetch(
            request(first.from(0)).setContext(RequestContext.newBuilder().setDeadlineMillis(100)));
    fixture.timer.advance(100);
    assertThat(fetch.done()).isTrue();
  }

  @Test
  void anErrorInOnePartitionAnswersAtOnce() {
    second.raft.stepDown(2, 0);
    Fetch fetch = fetchBoth();
    assertThat(fetch.done()).isTrue();
    assertThat(fetch.code(0)).isEqualTo(ErrorCode.NONE);
    assertThat(fetch.code(1)).isEqualTo(ErrorCode.NOT_LEADER);
  }

  @Test
  void theEndOfLeadershipAnswersWhoWaits() {
    Fetch fetch = fetchBoth();
    second.raft.stepDown(2, 0);
    assertThat(fetch.done()).isTrue();
    assertThat(fetch.code(1)).isEqualTo(ErrorCode.NOT_LEADER);
  }

  @Test
  void removalAnswersWhoWaits() {
    Fetch fetch = fetchBoth();
    second.partition.removed();
    assertThat(fetch.code(1)).isEqualTo(ErrorCode.UNKNOWN_PARTITION);
    Fetch another = fetchBoth();
    assertThat(another.code(1)).isEqualTo(ErrorCode.UNKNOWN_PARTITION);
  }

  @Test
  void anAnswerDuringTheRegistrationLeavesNothingBehind() {
    fixture.timer.duringNewTimeout = () -> first.store(1);
    Fetch fetch = fetchBoth();
    assertThat(fetch.done()).isTrue();
    assertThat(fixture.timer.waiting()).isZero();
    assertThat(fixture.budget.waiting()).isZero();
    assertThat(second.partition.status().waitingFetches()).isZero();
  }

  @Test
  void cancelEndsTheWaitWithoutAnAnswer() {
    Fetch fetch = fetchBoth();
    fetch.handle.cancel();
    fetch.handle.cancel();
    assertThat(fixture.budget.waiting()).isZero();
    assertThat(fixture.timer.waiting()).isZero();
    first.store(1);
    assertThat(fetch.done()).isFalse();
    assertThat(fixture.counters.value(Counter.FETCHES_CANCELLED)).isEqualTo(1);
  }

  @Test
  void closingTheCoordinatorAnswersWhoWaitsAndWhoComesLater() {
    Fetch fetch = fetchBoth();
    fixture.coordinator.close();
    assertThat(fetch.requestCode()).isEqualTo(ErrorCode.SHUTTING_DOWN);
    assertThat(fetchBoth().requestCode()).isEqualTo(ErrorCode.SHUTTING_DOWN);
  }

  @Test
  void aStoppedTimerAnswersInsteadOfLosingAFetch() {
    fixture.timer.stop();
    assertThat(fetchBoth().requestCode()).isEqualTo(ErrorCode.SHUTTING_DOWN);
  }

  @Test
  void waitingFetchesAreBounded() {
    fixture.close();
    open(new FetchBudget(1 << 20, 2));
    Fetch one = fetchBoth();
    Fetch two = fetchBoth();
    Fetch three = fetchBoth();
    assertThat(three.requestCode()).isEqualTo(ErrorCode.THROTTLED);
    assertThat(three.answer.header().getContext().getThrottleMillis()).isPositive();
    one.handle.cancel();
    assertThat(fetchBoth().done()).isFalse();
    assertThat(two.done()).isFalse();
  }

  // ------------------------------------------------------------------------------------ minBytes

  @Test
  void fewerThanMinBytesWaitForMoreOrForTheTime() {
    Fetch fetch = fetch(request(first.from(0), second.from(0)).setMinBytes(1000));
    first.store(1, 400);
    assertThat(fetch.done()).isFalse();
    second.store(1, 300);
    assertThat(fetch.done()).isFalse();
    first.store(1, 400);
    assertThat(fetch.done()).isTrue();
    assertThat(fetch.answer.bytes()).isGreaterThanOrEqualTo(1000);
    assertThat(fetch.answer.slices()).hasSize(2);
  }

  @Test
  void minBytesCountsWhatWasThereBeforeTheWait() {
    first.store(1, 400);
    Fetch fetch = fetch(request(first.from(0)).setMinBytes(1000));
    assertThat(fetch.done()).isFalse();
    first.store(1, 600);
    assertThat(fetch.done()).isTrue();
    Fetch timed = fetch(request(first.from(0)).setMinBytes(100_000));
    fixture.timer.advance(500);
    assertThat(timed.answer.slices()).hasSize(1);
  }

  @Test
  void whatTheLimitsCutDoesNotWaitForMinBytes() {
    first.store(1, 400);
    first.store(1, 400);
    assertThat(fetch(request(first.from(0)).setMinBytes(1000).setMaxBytes(500)).done()).isTrue();
    assertThat(fetch(request(first.from(0)).setMinBytes(1000).setPrefetchRecords(1)).done())
        .isTrue();
  }

  // ----------------------------------------------------------------------------- write behind

  @Test
  void aCommitBeforeTheLocalWriteIsServedSoonAfterTheWrite() {
    first.raft.writeBeforeApply = false;
    Fetch fetch = fetchBoth();
    first.store(1);
    assertThat(fetch.done()).isFalse();
    fixture.timer.advance(5);
    assertThat(fetch.done()).as("not written yet").isFalse();
    first.raft.writeLog();
    fixture.timer.advance(5);
    assertThat(fetch.done()).isTrue();
    assertThat(fetch.result(0).getDeliverUpTo()).isEqualTo(1);
  }

  @Test
  void aFetchThatComesBetweenCommitAndWriteIsServedSoonAfterTheWrite() {
    first.raft.writeBeforeApply = false;
    first.store(1);
    Fetch fetch = fetchBoth();
    assertThat(fetch.done()).isFalse();
    first.raft.writeLog();
    fixture.timer.advance(5);
    assertThat(fetch.done()).isTrue();
  }

  @Test
  void theLogMaySayThatItHasCaughtUp() {
    first.raft.writeBeforeApply = false;
    Fetch fetch = fetchBoth();
    first.store(1);
    first.raft.writeLog();
    assertThat(fetch.done()).isFalse();
    first.partition.logWritten();
    assertThat(fetch.done()).isTrue();
  }

  // ---------------------------------------------------------------------------------- credit

  @Test
  void withoutCreditAFetchWaitsItsTimeWhateverArrives() {
    Fetch records = fetch(request(first.from(0)).setPrefetchRecords(10).setInFlightRecords(10));
    Fetch bytes = fetch(request(first.from(0)).setPrefetchBytes(10).setInFlightBytes(10));
    first.store(5);
    assertThat(records.done()).isFalse();
    assertThat(bytes.done()).isFalse();
    fixture.timer.advance(500);
    assertThat(records.done()).isTrue();
    assertThat(records.answer.slices()).isEmpty();
    assertThat(bytes.answer.slices()).isEmpty();
    assertThat(records.result(0).getReadableEnd()).isEqualTo(5);
  }

  @Test
  void withoutCreditAFetchStillLearnsOfTheEndOfLeadership() {
    Fetch fetch = fetch(request(first.from(0)).setPrefetchRecords(10).setInFlightRecords(10));
    first.raft.stepDown(2, 0);
    assertThat(fetch.code(0)).isEqualTo(ErrorCode.NOT_LEADER);
  }

  @Test
  void aPartitionWithoutItsOwnCreditDoesNotHideAnother() {
    Fetch fetch =
        fetch(request(first.from(0).setPrefetchRecords(5).setInFlightRecords(5), second.from(0)));
    first.store(3);
    assertThat(fetch.done()).isFalse();
    second.store(3);
    assertThat(fetch.done()).isTrue();
    assertThat(fetch.result(0).getSize()).isZero();
    assertThat(fetch.result(1).getDeliverUpTo()).isEqualTo(3);
  }
}
