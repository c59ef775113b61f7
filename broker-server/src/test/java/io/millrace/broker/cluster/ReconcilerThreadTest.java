package io.millrace.broker.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.millrace.broker.cluster.message.MetadataCommand;
import io.millrace.broker.cluster.message.MetadataResult;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class ReconcilerThreadTest {

  private static final UUID ORDERS = new UUID(7, 1);

  private final FakeReplicas replicas = new FakeReplicas();

  private Reconciler reconciler(MetadataService metadata) {
    return new Reconciler(
        new LocalBroker(FakeCluster.CLUSTER_ID, 2, FakeCluster.incarnation(2)),
        metadata,
        state -> true,
        replicas,
        () -> TimeUnit.NANOSECONDS.toMillis(System.nanoTime()));
  }

  @Test
  void aMetadataChangeWakesIt() {
    MetadataGroup group = new MetadataGroup();
    FakeMetadata metadata = new FakeMetadata();
    for (int id = 1; id <= 3; id++) {
      metadata.commit(Commands.register(id));
    }
    metadata.commit(Commands.create("orders", ORDERS, List.of(1, 2, 3)));
    try (ReconcilerThread thread =
        new ReconcilerThread(reconciler(metadata), group, "reconciler-test")) {
      thread.start();
      // The first pass creates and reports; the second, which starts, comes by this wake-up long
      // before the slow timer.
      await()
          .atMost(Duration.ofMillis(Reconciler.SLOW_MILLIS / 2))
          .until(
              () -> {
                group.leaderChanged(1, 1);
                return replicas.starts == 1;
              });
    }
    assertThat(threads("reconciler-test")).isZero();
  }

  @Test
  void closeEndsAReportThatNobodyAnswers() throws InterruptedException {
    MetadataGroup group = new MetadataGroup();
    CountDownLatch reported = new CountDownLatch(1);
    FakeMetadata committed = new FakeMetadata();
    for (int id = 1; id <= 3; id++) {
      committed.commit(Commands.register(id));
    }
    committed.commit(Commands.create("orders", ORDERS, List.of(1, 2, 3)));
    MetadataService silent =
        new FakeMetadata() {
          @Override
          public MetadataState state() {
            return committed.state();
          }

          @Override
          public CompletableFuture<MetadataResult> submit(
              MetadataCommand command, long timeoutMillis) {
            reported.countDown();
            return new CompletableFuture<>();
          }
        };
    ReconcilerThread thread = new ReconcilerThread(reconciler(silent), group, "reconciler-silent");
    thread.start();
    assertThat(reported.await(10, TimeUnit.SECONDS)).isTrue();
    long begin = System.nanoTime();
    thread.close();
    assertThat(TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begin)).isLessThan(5000);
    assertThat(threads("reconciler-silent")).isZero();
  }

  private static long threads(String name) {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> thread.getName().equals(name))
        .count();
  }

  @Test
  void theRealSchedulerRunsTasksInTimeAndNoneAfterClose() throws InterruptedException {
    CountDownLatch ran = new CountDownLatch(1);
    CountDownLatch never = new CountDownLatch(1);
    ThreadScheduler scheduler = new ThreadScheduler("scheduler-test");
    long begin = scheduler.nowMillis();
    scheduler.schedule(
        1,
        () -> {
          throw new IllegalStateException("a task that fails must not stop the others");
        });
    scheduler.schedule(20, ran::countDown);
    scheduler.schedule(5, never::countDown).cancel();
    assertThat(ran.await(10, TimeUnit.SECONDS)).isTrue();
    assertThat(scheduler.nowMillis() - begin).isGreaterThanOrEqualTo(19);
    scheduler.schedule(10_000, never::countDown);
    scheduler.close();
    scheduler.schedule(0, never::countDown).cancel();
    assertThat(never.getCount()).isEqualTo(1);
    await().atMost(Duration.ofSeconds(10)).until(() -> threads("scheduler-test") == 0);
  }
}
