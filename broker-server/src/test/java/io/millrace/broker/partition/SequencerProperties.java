package io.millrace.broker.partition;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.protocol.error.ErrorCode;
import java.util.List;
import java.util.stream.Stream;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.RandomDistribution;
import net.jqwik.api.constraints.IntRange;

/** Idempotent producers with five batches in flight, against everything that can go wrong. */
class SequencerProperties {

  private static final int STEPS = 200;

  @Property(tries = 2000)
  void whatAProducerSendsIsStoredOnceAndInOrder(@ForAll("steps") List<Integer> steps) {
    new Run().run(steps, 0);
  }

  @Property(tries = 700)
  void alsoWhenItResumesAndItsSequenceWraps(
      @ForAll("steps") List<Integer> steps,
      @ForAll @IntRange(min = Integer.MAX_VALUE - 100) int firstSequence) {
    new Run().run(steps, firstSequence);
  }

  /** Uniform: jqwik's usual bias to small numbers would choose the first actions all the time. */
  @Provide
  Arbitrary<List<Integer>> steps() {
    return Arbitraries.integers()
        .between(0, 9999)
        .withDistribution(RandomDistribution.uniform())
        .list()
        .ofMaxSize(STEPS);
  }

  private static final class Run {

    private final SequencerFixture fixture = new SequencerFixture();
    private final long otherBytes = fixture.budget.limitBytes();
    private final ProducerModel[] producers = new ProducerModel[2];
    private boolean full;
    private boolean transferring;

    void run(List<Integer> steps, int firstSequence) {
      fixture.raft.lead(1);
      producers[0] = new ProducerModel(fixture, 7, firstSequence);
      producers[1] = new ProducerModel(fixture, 8, 0);
      for (int step : steps) {
        step(step, producers[step % 2]);
      }
      recover();
      for (ProducerModel producer : producers) {
        producer.finish();
      }
      for (ProducerModel producer : producers) {
        producer.check();
      }
      assertThat(fixture.faults).isEmpty();
      fixture.sequencer.stop(ErrorCode.SHUTTING_DOWN.toInfo("end"));
      assertThat(fixture.budget.usedBytes()).isZero();
    }

    private void step(int step, ProducerModel producer) {
      int value = step / 2 % 50;
      switch (step / 100) {
        case 0, 1, 2, 3, 4 -> changeLeader(value);
        case 5, 6, 7, 8 -> {
          if (!transferring && fixture.raft.isLeader()) {
            fixture.sequencer.closeForTransfer();
            if (fixture.raft.inFlight() == 0) {
              fixture.raft.transferLeadership(2);
              transferring = true;
            } else {
              fixture.sequencer.reopenAfterNoTransfer();
            }
          }
        }
        case 9, 10, 11, 12, 13 -> endTransfer();
        case 14, 15, 16 -> fill(true);
        case 17, 18, 19, 20 -> fill(false);
        case 21, 22, 23 -> producer.giveUp();
        case 24, 25, 26 -> producer.deliverStale();
        case 27 -> expire();
        case 28, 29 -> fixture.clock.millis += 300;
        case 30, 31, 32 -> producer.send(true);
        case 33, 34 -> rejectOne(producer);
        default -> {
          if (step < 6500) {
            producer.send(false);
          } else if (step < 8300) {
            fixture.raft.commit(Math.min(value % 4 + 1, fixture.raft.inFlight()));
          } else {
            producer.readAnswer(value, value % 7 == 0);
          }
        }
      }
    }

    private void changeLeader(int value) {
      if (!fixture.raft.isLeader()) {
        return;
      }
      int inFlight = fixture.raft.inFlight();
      fixture.raft.stepDown(2, inFlight == 0 ? 0 : value % (inFlight + 1));
      if (value % 3 != 0) {
        fixture.raft.lead(fixture.raft.term() + 1);
      }
    }

    private void endTransfer() {
      if (transferring) {
        transferring = false;
        fixture.raft.transferFailed();
      } else if (!fixture.raft.isLeader()) {
        fixture.raft.lead(fixture.raft.term() + 1);
      }
    }

    private void fill(boolean fill) {
      if (fill && !full && fixture.budget.usedBytes() == 0) {
        full = fixture.budget.tryAcquire(otherBytes);
      } else if (!fill && full) {
        fixture.budget.release(otherBytes);
        full = false;
      }
    }

    /** Raft refuses one proposal and takes the next. */
    private void rejectOne(ProducerModel producer) {
      if (fixture.raft.mode == FakeRaft.Mode.ACCEPT) {
        fixture.raft.mode = FakeRaft.Mode.REJECT_NOW;
        producer.send(false);
        fixture.raft.mode = FakeRaft.Mode.ACCEPT;
      }
    }

    /** Longer than any delivery timeout passes, so all producers are forgotten. */
    private void expire() {
      boolean resolved = Stream.of(producers).allMatch(ProducerModel::nothingUnresolved);
      if (resolved && fixture.raft.isLeader() && fixture.raft.inFlight() == 0 && !full) {
        Stream.of(producers).forEach(ProducerModel::forgetStale);
        fixture.clock.millis += 2 * SequencerFixture.SETTINGS.producerExpiryMillis();
        fixture.send(Batches.plain(1, 1));
        fixture.raft.commitAll();
      }
    }

    private void recover() {
      fill(false);
      if (transferring || !fixture.raft.isLeader()) {
        endTransfer();
      }
      fixture.raft.commitAll();
    }
  }
}
