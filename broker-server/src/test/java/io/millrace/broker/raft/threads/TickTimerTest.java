package io.millrace.broker.raft.threads;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class TickTimerTest {

  private static final int TICK_MILLIS = 5;
  private static final int LONG_TICKS = 4;

  private final AtomicInteger runs = new AtomicInteger();
  private final WorkerPool workers = new WorkerPool("timer-test", 4);
  private final Executor counting =
      task -> {
        runs.incrementAndGet();
        workers.execute(task);
      };
  private final TickTimer timer = new TickTimer("ticks-test", TICK_MILLIS, counting);

  @Test
  void neverStartsEarly() throws Exception {
    for (int delay : new int[] {0, 1, 7, 40, 210}) {
      long begin = System.nanoTime();
      CountDownLatch done = new CountDownLatch(1);
      timer.schedule(done::countDown, delay, TimeUnit.MILLISECONDS, LONG_TICKS);
      done.await();
      assertThat(System.nanoTime() - begin)
          .isGreaterThanOrEqualTo(TimeUnit.MILLISECONDS.toNanos(delay));
    }
  }

  @Test
  void anEarlierTaskIsNotHeldUpByALaterOne() throws Exception {
    timer.schedule(() -> {}, 1, TimeUnit.HOURS, LONG_TICKS);
    CountDownLatch done = new CountDownLatch(1);
    timer.schedule(done::countDown, 10, TimeUnit.MILLISECONDS, LONG_TICKS);
    assertThat(done.await(30, TimeUnit.SECONDS)).isTrue();
  }

  /** 400 heartbeats spread over 40 ms fall due at two or three long ticks. */
  @Test
  void longDelaysShareTicksAndRuns() throws Exception {
    int tasks = 400;
    List<Long> times = Collections.synchronizedList(new ArrayList<>());
    CountDownLatch done = new CountDownLatch(tasks);
    for (int i = 0; i < tasks; i++) {
      timer.schedule(
          () -> {
            times.add(System.nanoTime());
            done.countDown();
          },
          TickTimer.LONG_DELAY_MILLIS * 1000 + i * 100L,
          TimeUnit.MICROSECONDS,
          LONG_TICKS);
    }
    done.await();
    int fullRuns = tasks / TickTimer.TASKS_PER_RUN;
    // Each tick can end in one run that is not full; scheduling itself may take a while.
    assertThat(runs.get()).isBetween(fullRuns, fullRuns + 25);
  }

  @Test
  void aCancelledTaskDoesNotRunAndAStartedOneCannotBeCancelled() throws Exception {
    AtomicInteger ran = new AtomicInteger();
    TickTimer.Task cancelled =
        timer.schedule(ran::incrementAndGet, 30, TimeUnit.MILLISECONDS, LONG_TICKS);
    assertThat(cancelled.cancel(true)).isTrue();
    assertThat(cancelled.cancel(true)).isFalse();
    assertThat(cancelled.isCancelled()).isTrue();
    assertThat(cancelled.isStarted()).isFalse();

    CountDownLatch inside = new CountDownLatch(1);
    CountDownLatch go = new CountDownLatch(1);
    TickTimer.Task started =
        timer.schedule(
            () -> {
              inside.countDown();
              try {
                go.await();
              } catch (InterruptedException e) {
                throw new IllegalStateException(e);
              }
              ran.addAndGet(10);
            },
            0,
            TimeUnit.MILLISECONDS,
            LONG_TICKS);
    inside.await();
    assertThat(started.isStarted()).isTrue();
    assertThat(started.cancel(true)).isFalse();
    go.countDown();
    started.get();
    assertThat(started.isDone()).isTrue();
    CountDownLatch later = new CountDownLatch(1);
    timer.schedule(later::countDown, 60, TimeUnit.MILLISECONDS, LONG_TICKS);
    later.await();
    assertThat(ran).hasValue(10);
  }

  /** As a heartbeat timer does, which still holds the lock that its heartbeat needs. */
  @Test
  void whatATaskLeavesToDoRunsBehindItOnItsThread() throws Exception {
    assertThat(TickTimer.afterThisTask(() -> {})).as("here is no timer").isFalse();
    List<String> order = Collections.synchronizedList(new ArrayList<>());
    CountDownLatch done = new CountDownLatch(2);
    for (int i = 1; i <= 2; i++) {
      int task = i;
      timer.schedule(
          () -> {
            Thread thread = Thread.currentThread();
            assertThat(
                    TickTimer.afterThisTask(
                        () -> {
                          order.add("left by " + task + " " + (Thread.currentThread() == thread));
                          done.countDown();
                          throw new IllegalStateException("contained");
                        }))
                .isTrue();
            order.add("task " + task);
          },
          TickTimer.LONG_DELAY_MILLIS,
          TimeUnit.MILLISECONDS,
          LONG_TICKS);
    }
    done.await();
    assertThat(order).containsSubsequence("task 1", "left by 1 true");
    assertThat(order).containsSubsequence("task 2", "left by 2 true");
  }

  @Test
  void aTaskThatThrowsHarmsNoOther() {
    AtomicInteger ran = new AtomicInteger();
    for (int i = 0; i < 20; i++) {
      boolean fails = i % 2 == 0;
      timer.schedule(
          () -> {
            ran.incrementAndGet();
            if (fails) {
              throw new IllegalStateException("expected by the test");
            }
          },
          10,
          TimeUnit.MILLISECONDS,
          LONG_TICKS);
    }
    await().until(() -> ran.get() == 20);
  }
}
