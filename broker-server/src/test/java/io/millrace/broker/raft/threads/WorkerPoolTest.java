package io.millrace.broker.raft.threads;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class WorkerPoolTest {

  private static final long LONG_IDLE = TimeUnit.MINUTES.toNanos(5);

  @Test
  void oneThreadIsEnoughForTasksThatComeOneAfterTheOther() throws Exception {
    WorkerPool pool = new WorkerPool("t", 8, LONG_IDLE);
    Set<Thread> ran = ConcurrentHashMap.newKeySet();
    for (int i = 0; i < 10; i++) {
      CountDownLatch done = new CountDownLatch(1);
      pool.execute(
          () -> {
            ran.add(Thread.currentThread());
            done.countDown();
          });
      done.await();
      // The thread is idle a moment after its task has ended.
      await().until(() -> pool.idleThreads() == 1);
    }
    assertThat(ran).hasSize(1);
    assertThat(pool.threads()).isEqualTo(1);
    assertThat(pool.close(10_000)).isTrue();
  }

  @Test
  void growsOnlyToTheMaximumAndQueuesBeyond() throws Exception {
    WorkerPool pool = new WorkerPool("t", 3, LONG_IDLE);
    CyclicBarrier threeAtOnce = new CyclicBarrier(3);
    AtomicInteger atOnce = new AtomicInteger();
    AtomicInteger most = new AtomicInteger();
    CountDownLatch all = new CountDownLatch(30);
    for (int i = 0; i < 30; i++) {
      pool.execute(
          () -> {
            most.accumulateAndGet(atOnce.incrementAndGet(), Math::max);
            try {
              threeAtOnce.await(); // Fails the test by its timeout if fewer run at once.
            } catch (Exception e) {
              throw new IllegalStateException(e);
            } finally {
              atOnce.decrementAndGet();
              all.countDown();
            }
          });
    }
    all.await();
    assertThat(most).hasValueLessThanOrEqualTo(3);
    assertThat(pool.threads()).isEqualTo(3);
    assertThat(pool.close(10_000)).isTrue();
  }

  @Test
  void idleThreadsEnd() {
    WorkerPool pool = new WorkerPool("t", 4, TimeUnit.MILLISECONDS.toNanos(20));
    AtomicInteger ran = new AtomicInteger();
    for (int i = 0; i < 4; i++) {
      pool.execute(ran::incrementAndGet);
    }
    await().until(() -> pool.threads() == 0);
    assertThat(ran).hasValue(4);
    pool.execute(ran::incrementAndGet);
    await().until(() -> ran.get() == 5);
  }

  /** Threads that end just when work comes must not take it with them. */
  @Test
  void noTaskIsLostWhileThreadsComeAndGo() throws Exception {
    WorkerPool pool = new WorkerPool("t", 2, 1);
    AtomicInteger ran = new AtomicInteger();
    int submitters = 4;
    int each = 20_000;
    Thread[] threads = new Thread[submitters];
    for (int t = 0; t < submitters; t++) {
      threads[t] =
          new Thread(
              () -> {
                for (int i = 0; i < each; i++) {
                  pool.execute(ran::incrementAndGet);
                }
              });
      threads[t].start();
    }
    for (Thread thread : threads) {
      thread.join();
    }
    await().until(() -> ran.get() == submitters * each);
    await().until(() -> pool.threads() == 0);
  }

  @Test
  void aTaskThatThrowsOrIsInterruptedHarmsNoOther() throws Exception {
    WorkerPool pool = new WorkerPool("t", 1, LONG_IDLE);
    CountDownLatch after = new CountDownLatch(1);
    pool.execute(
        () -> {
          Thread.currentThread().interrupt();
          throw new IllegalStateException("expected by the test");
        });
    await().until(() -> pool.idleThreads() == 1);
    pool.execute(after::countDown);
    after.await();
    assertThat(pool.threads()).isEqualTo(1);
  }

  @Test
  void closingWaitsForWhatRunsAndTakesNothingMore() throws Exception {
    WorkerPool pool = new WorkerPool("t", 1, LONG_IDLE);
    CountDownLatch go = new CountDownLatch(1);
    AtomicInteger ran = new AtomicInteger();
    pool.execute(
        () -> {
          try {
            go.await();
          } catch (InterruptedException e) {
            throw new IllegalStateException(e);
          }
        });
    pool.execute(ran::incrementAndGet);
    assertThat(pool.close(50)).isFalse();
    assertThatThrownBy(() -> pool.execute(ran::incrementAndGet))
        .isInstanceOf(RejectedExecutionException.class)
        .hasMessage("t is closed");
    go.countDown();
    assertThat(pool.close(10_000)).isTrue();
    assertThat(ran).hasValue(1);
  }
}
