package io.millrace.broker.raft.threads;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.lmax.disruptor.ExceptionHandler;
import com.lmax.disruptor.RingBuffer;
import com.lmax.disruptor.dsl.ProducerType;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class PooledDisruptorTest {

  private static final class Slot {
    int producer;
    int value;
  }

  private final WorkerPool pool = new WorkerPool("rings", 2);

  private PooledDisruptor<Slot> disruptor(int size) {
    return new PooledDisruptor<>(Slot::new, size, ProducerType.MULTI, pool);
  }

  private static void publish(RingBuffer<Slot> ring, int producer, int value) {
    ring.publishEvent(
        (slot, sequence) -> {
          slot.producer = producer;
          slot.value = value;
        });
  }

  /** What a group relies on: nothing lost, nothing twice, one at a time, each producer in order. */
  @Test
  void everyEventIsHandledOnceInOrderByOneThreadAtATime() throws Exception {
    int rings = 6;
    int producers = 3;
    int each = 20_000;
    List<List<List<Integer>>> seen = new ArrayList<>();
    List<Thread> threads = new ArrayList<>();
    CountDownLatch handled = new CountDownLatch(rings * producers * each);
    for (int r = 0; r < rings; r++) {
      List<List<Integer>> mine = new ArrayList<>();
      for (int p = 0; p < producers; p++) {
        mine.add(new ArrayList<>()); // Unsafe lists: two handlers at once would break them.
      }
      seen.add(mine);
      PooledDisruptor<Slot> disruptor = disruptor(64);
      disruptor.handleEventsWith(
          (slot, sequence, endOfBatch) -> {
            mine.get(slot.producer).add(slot.value);
            handled.countDown();
          });
      RingBuffer<Slot> ring = disruptor.start();
      for (int p = 0; p < producers; p++) {
        int producer = p;
        Random random = new Random(31L * r + p);
        Thread thread =
            new Thread(
                () -> {
                  for (int i = 0; i < each; i++) {
                    publish(ring, producer, i);
                    if (random.nextInt(50) == 0) {
                      LockSupport.parkNanos(1000); // So that rings run empty and must wake.
                    }
                  }
                });
        threads.add(thread);
        thread.start();
      }
    }
    handled.await();
    for (Thread thread : threads) {
      thread.join();
    }
    assertThat(pool.threads()).isLessThanOrEqualTo(2);
    for (List<List<Integer>> ring : seen) {
      for (List<Integer> producer : ring) {
        assertThat(producer).hasSize(each);
        for (int i = 0; i < each; i++) {
          assertThat(producer.get(i)).isEqualTo(i);
        }
      }
    }
  }

  @Test
  void theLastEventOfABatchIsMarked() throws Exception {
    PooledDisruptor<Slot> disruptor = disruptor(16);
    List<String> seen = Collections.synchronizedList(new ArrayList<>());
    CountDownLatch inside = new CountDownLatch(1);
    CountDownLatch go = new CountDownLatch(1);
    disruptor.handleEventsWith(
        (slot, sequence, endOfBatch) -> {
          inside.countDown();
          go.await();
          seen.add(slot.value + (endOfBatch ? " end" : ""));
        });
    RingBuffer<Slot> ring = disruptor.start();
    publish(ring, 0, 1);
    inside.await();
    publish(ring, 0, 2);
    publish(ring, 0, 3);
    go.countDown();
    await().until(() -> seen.size() == 3);
    assertThat(seen).containsExactly("1 end", "2", "3 end");
  }

  @Test
  void anEventWhoseHandlerThrowsIsToldAndSkipped() {
    PooledDisruptor<Slot> disruptor = disruptor(16);
    List<Integer> handled = Collections.synchronizedList(new ArrayList<>());
    List<String> failed = Collections.synchronizedList(new ArrayList<>());
    disruptor.handleEventsWith(
        (slot, sequence, endOfBatch) -> {
          if (slot.value == 2) {
            throw new IllegalStateException("two");
          }
          handled.add(slot.value);
        });
    disruptor.setDefaultExceptionHandler(
        new ExceptionHandler<Slot>() {
          @Override
          public void handleEventException(Throwable failure, long sequence, Slot event) {
            failed.add(event.value + " " + failure.getMessage());
            throw new IllegalStateException("the handler of failures fails as well");
          }

          @Override
          public void handleOnStartException(Throwable failure) {
            throw new AssertionError(failure);
          }

          @Override
          public void handleOnShutdownException(Throwable failure) {
            throw new AssertionError(failure);
          }
        });
    RingBuffer<Slot> ring = disruptor.start();
    for (int i = 1; i <= 3; i++) {
      publish(ring, 0, i);
    }
    await().until(() -> handled.size() == 2);
    assertThat(handled).containsExactly(1, 3);
    assertThat(failed).containsExactly("2 two");
  }

  @Test
  void anIdleRingHasNoThreadAndAStoppedOneHandlesWhatItHadFirst() throws Exception {
    WorkerPool own = new WorkerPool("own", 2, 1000);
    PooledDisruptor<Slot> disruptor = new PooledDisruptor<>(Slot::new, 16, ProducerType.MULTI, own);
    List<Integer> handled = Collections.synchronizedList(new ArrayList<>());
    disruptor.handleEventsWith((slot, sequence, endOfBatch) -> handled.add(slot.value));
    RingBuffer<Slot> ring = disruptor.start();
    for (int i = 0; i < 10; i++) {
      publish(ring, 0, i);
    }
    disruptor.shutdown(); // Returns when there is no backlog.
    assertThat(handled).hasSize(10);
    await().until(() -> own.threads() == 0);
    publish(ring, 0, 11);
    assertThat(own.threads()).isZero();
  }

  @Test
  void takesOneHandler() {
    PooledDisruptor<Slot> disruptor = disruptor(16);
    disruptor.handleEventsWith((slot, sequence, endOfBatch) -> {});
    assertThatThrownBy(() -> disruptor.handleEventsWith((slot, sequence, endOfBatch) -> {}))
        .isInstanceOf(IllegalArgumentException.class);
  }
}
