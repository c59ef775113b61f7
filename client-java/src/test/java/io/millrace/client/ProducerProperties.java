package io.millrace.client;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.client.fake.FakeCluster;
import io.millrace.client.fake.Fault;
import io.millrace.protocol.batch.RecordView;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.error.MillraceException;
import io.millrace.protocol.error.Outcome;
import io.millrace.protocol.frame.ApiKind;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.ShrinkingMode;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.lifecycle.AfterContainer;
import net.jqwik.api.lifecycle.BeforeContainer;

/**
 * Random faults against brokers that follow the design's producer rules: what was acknowledged is
 * stored once, where the receipt says; what is certainly not stored is nowhere; nothing is stored
 * twice; and what is stored of a key is in the order of sending.
 */
class ProducerProperties {

  private static final int PARTITIONS = 2;
  private static final int MOST_DELAY_MILLIS = 120;
  private static final AtomicInteger TOPICS = new AtomicInteger();
  private static final String FILLER = "x".repeat(120);

  private static FakeCluster cluster;

  @BeforeContainer
  static void start() {
    cluster = new FakeCluster(3);
  }

  @AfterContainer
  static void stop() {
    cluster.close();
  }

  /** What happens to one PRODUCE request; MOVE also elects another leader. */
  private enum Trouble {
    NONE,
    DROP_BEFORE,
    DROP_AFTER,
    NOT_LEADER,
    MOVE,
    NO_LEADER_FOR_A_WHILE,
    THROTTLED,
    LATE,
    LATE_ANSWER,
    SILENT_AFTER,
    OUTCOME_UNKNOWN_STORED,
    OUTCOME_UNKNOWN_NOT_STORED,
    FORGET_CLOSED_LANES
  }

  @Provide
  Arbitrary<List<Trouble>> troubles() {
    return Arbitraries.of(Trouble.class).list().ofMinSize(1).ofMaxSize(25);
  }

  @Property(tries = 40, shrinking = ShrinkingMode.BOUNDED)
  void everythingArrivesOnceAndInOrder(
      @ForAll("troubles") List<Trouble> troubles,
      @ForAll @IntRange(min = 1, max = 60) int records,
      @ForAll @IntRange(min = 1, max = 4) int recordsPerBatch)
      throws Exception {
    Run run = new Run(troubles, 30_000, recordsPerBatch);
    run.send(records);
    run.check();
    assertThat(run.failures).isEmpty();
  }

  /** With so little time some records end as unknown, or certainly not stored. */
  @Property(tries = 40, shrinking = ShrinkingMode.BOUNDED)
  void outcomesAreTrue(
      @ForAll("troubles") List<Trouble> troubles,
      @ForAll @IntRange(min = 1, max = 60) int records,
      @ForAll @IntRange(min = 1, max = 4) int recordsPerBatch)
      throws Exception {
    Run run = new Run(troubles, 100, recordsPerBatch);
    run.send(records);
    run.check();
  }

  private static final class Run {
    private final String topic = "t" + TOPICS.incrementAndGet();
    private final List<Trouble> troubles;
    private final int deliveryTimeoutMillis;
    private final int recordsPerBatch;
    private final AtomicInteger request = new AtomicInteger();
    private final List<CompletableFuture<Receipt>> futures = new ArrayList<>();
    final Map<Integer, MillraceException> failures = new HashMap<>();

    Run(List<Trouble> troubles, int deliveryTimeoutMillis, int recordsPerBatch) {
      this.troubles = troubles;
      this.deliveryTimeoutMillis = deliveryTimeoutMillis;
      this.recordsPerBatch = recordsPerBatch;
    }

    private Fault fault() {
      int n = request.getAndIncrement();
      if (n >= troubles.size()) {
        return Fault.NONE;
      }
      switch (troubles.get(n)) {
        case MOVE -> {
          for (int p = 0; p < PARTITIONS; p++) {
            cluster.moveLeader(topic, p, 1 + (n + p) % 3);
          }
          return Fault.NONE;
        }
        case NO_LEADER_FOR_A_WHILE -> {
          cluster.moveLeader(topic, 0, 0);
          cluster.later(30, () -> cluster.moveLeader(topic, 0, 1 + n % 3));
          return Fault.NONE;
        }
        case FORGET_CLOSED_LANES -> {
          cluster.forgetClosedLanes(topic);
          return Fault.NONE;
        }
        default -> {
          return simple(troubles.get(n), n);
        }
      }
    }

    private Fault simple(Trouble trouble, int n) {
      return switch (trouble) {
        case DROP_BEFORE -> new Fault.Drop(false);
        case DROP_AFTER -> new Fault.Drop(true);
        case NOT_LEADER -> Fault.refuseEach(ErrorCode.NOT_LEADER);
        case THROTTLED -> new Fault.RefuseEach(ErrorCode.THROTTLED.toInfo(""), n % 20);
        case LATE -> new Fault.Delay(20 + n * 7 % (MOST_DELAY_MILLIS - 20), true);
        case LATE_ANSWER -> new Fault.Delay(20 + n * 7 % (MOST_DELAY_MILLIS - 20), false);
        case SILENT_AFTER -> new Fault.Silence(true);
        case OUTCOME_UNKNOWN_STORED -> new Fault.ApplyAndSay(ErrorCode.OUTCOME_UNKNOWN.toInfo(""));
        case OUTCOME_UNKNOWN_NOT_STORED -> Fault.refuseEach(ErrorCode.OUTCOME_UNKNOWN);
        default -> Fault.NONE;
      };
    }

    void send(int records) throws Exception {
      cluster.createTopic(topic, PARTITIONS);
      cluster.script((broker, kind, r) -> kind == ApiKind.PRODUCE ? fault() : Fault.NONE);
      ClientConfig config = new ClientConfig(cluster.bootstrap()).withReconnectBackoffMillis(2);
      try (MillraceClient client = MillraceClient.connect(config);
          Producer producer =
              client.producer(
                  new ProducerConfig()
                      .withLingerMillis(0)
                      .withBatchBytes(256 + (recordsPerBatch - 1) * 140)
                      .withRetryBackoffMillis(2)
                      .withRetryBackoffMaxMillis(20)
                      .withRequestTimeoutMillis(40)
                      .withDeliveryTimeoutMillis(deliveryTimeoutMillis))) {
        for (int i = 0; i < records; i++) {
          futures.add(
              producer.send(Records.to(topic, i % PARTITIONS, String.format("%04d", i) + FILLER)));
          if (i % 7 == 6) {
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(3));
          }
        }
        for (int i = 0; i < records; i++) {
          try {
            futures.get(i).get(20, TimeUnit.SECONDS);
          } catch (ExecutionException e) {
            failures.put(i, (MillraceException) e.getCause());
          } catch (TimeoutException e) {
            throw new AssertionError("record " + i + " is not decided: " + troubles, e);
          }
        }
      }
      // Late copies have arrived after this.
      CompletableFuture<Void> settled = new CompletableFuture<>();
      cluster.later(MOST_DELAY_MILLIS + 20, () -> settled.complete(null));
      settled.get(10, TimeUnit.SECONDS);
    }

    void check() {
      for (int p = 0; p < PARTITIONS; p++) {
        List<RecordView> stored = cluster.records(topic, p);
        List<Integer> numbers = new ArrayList<>();
        for (int offset = 0; offset < stored.size(); offset++) {
          assertThat(stored.get(offset).offset()).as("dense offsets").isEqualTo(offset);
          numbers.add(Integer.parseInt(new String(stored.get(offset).value(), 0, 4)));
        }
        assertThat(numbers).as("order of partition %d: %s", p, troubles).isSorted();
        Set<Integer> once = new HashSet<>(numbers);
        assertThat(once).as("nothing twice").hasSize(numbers.size());
        for (int i = p; i < futures.size(); i += PARTITIONS) {
          MillraceException failure = failures.get(i);
          if (failure == null) {
            long offset = futures.get(i).join().offset();
            assertThat(numbers.get((int) offset)).as("receipt of %d: %s", i, troubles).isEqualTo(i);
          } else if (failure.outcome() == Outcome.NOT_DONE) {
            assertThat(once).as("%d was said to be not stored: %s", i, troubles).doesNotContain(i);
          }
        }
      }
    }
  }
}
