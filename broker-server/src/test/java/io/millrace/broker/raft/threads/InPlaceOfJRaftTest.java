package io.millrace.broker.raft.threads;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.alipay.sofa.jraft.JRaftUtils;
import com.alipay.sofa.jraft.rpc.RpcUtils;
import com.alipay.sofa.jraft.util.DisruptorBuilder;
import com.alipay.sofa.jraft.util.NamedThreadFactory;
import com.alipay.sofa.jraft.util.ThreadPoolUtil;
import com.lmax.disruptor.RingBuffer;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class InPlaceOfJRaftTest {

  private static final String[] OURS = {
    "com.alipay.sofa.jraft.util.DisruptorBuilder",
    "com.alipay.sofa.jraft.util.NamedThreadFactory",
    "com.alipay.sofa.jraft.util.ThreadPoolUtil"
  };

  @Test
  void ourClassesAreTheOnesThatJRaftGets() throws Exception {
    InPlaceOfJRaft.check();
    for (String name : OURS) {
      Class<?> type = Class.forName(name, false, RpcUtils.class.getClassLoader());
      assertThat(InPlaceOfJRaft.class).isAssignableFrom(type);
    }
    assertThat(JRaftUtils.raftTimerFactory()).isInstanceOf(RaftTimers.class);
  }

  /** The class path the wrong way round: JRaft before this broker. */
  @Test
  void aStartWithJRaftsOwnClassesIsRefused() throws Exception {
    List<URL> wrongOrder = new ArrayList<>();
    wrongOrder.add(RpcUtils.class.getProtectionDomain().getCodeSource().getLocation());
    for (String entry :
        System.getProperty("java.class.path").split(System.getProperty("path.separator"))) {
      wrongOrder.add(Path.of(entry).toUri().toURL());
    }
    try (URLClassLoader loader =
        new URLClassLoader(wrongOrder.toArray(URL[]::new), ClassLoader.getPlatformClassLoader())) {
      Class<?> runtime = loader.loadClass("io.millrace.broker.raft.JRaftRuntime");
      assertThatThrownBy(() -> runtime.getMethod("ensureStarted").invoke(null))
          .rootCause()
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContaining("DisruptorBuilder was loaded from")
          .hasMessageContaining("jraft-core")
          .hasMessageEndingWith(
              "put the jar of millrace's broker-server before it on the class path");
    }
  }

  @Test
  void aRingHasNoThreadOfItsOwn() throws Exception {
    int before = Thread.activeCount();
    List<RingBuffer<AtomicInteger>> rings = new ArrayList<>();
    CountDownLatch handled = new CountDownLatch(200);
    for (int i = 0; i < 200; i++) {
      var disruptor =
          DisruptorBuilder.<AtomicInteger>newInstance()
              .setEventFactory(AtomicInteger::new)
              .setRingBufferSize(8)
              .setThreadFactory(new NamedThreadFactory("JRaft-NodeImpl-Disruptor-", true))
              .build();
      disruptor.handleEventsWith((event, sequence, endOfBatch) -> handled.countDown());
      rings.add(disruptor.start());
    }
    assertThat(Thread.activeCount() - before).isLessThan(50);
    rings.forEach(ring -> ring.publishEvent((event, sequence) -> event.set(1)));
    handled.await();
  }

  @Test
  void theReadIndexRingIsSmallAndItsScannerNeverRuns() throws Exception {
    var disruptor =
        DisruptorBuilder.<AtomicInteger>newInstance()
            .setEventFactory(AtomicInteger::new)
            .setRingBufferSize(1024)
            .setThreadFactory(new NamedThreadFactory("JRaft-ReadOnlyService-Disruptor-", true))
            .build();
    assertThat(disruptor.getBufferSize()).isEqualTo(16);

    AtomicInteger scans = new AtomicInteger();
    ScheduledExecutorService scanner =
        Executors.newSingleThreadScheduledExecutor(
            new NamedThreadFactory("ReadOnlyService-PendingNotify-Scanner", true));
    Future<?> periodic =
        scanner.scheduleAtFixedRate(scans::incrementAndGet, 1, 1, TimeUnit.MILLISECONDS);
    scanner.shutdown();
    assertThat(scanner.awaitTermination(5, TimeUnit.SECONDS)).isTrue();
    assertThat(periodic.isCancelled()).isTrue();
    assertThat(scans).hasValue(0);
  }

  /** Each heartbeat is such a task: one that is rejected stops the heartbeats of its follower. */
  @Test
  void poolsQueueInsteadOfRejecting() throws Exception {
    CountDownLatch go = new CountDownLatch(1);
    AtomicInteger ran = new AtomicInteger();
    for (int i = 0; i < 5000; i++) {
      RpcUtils.runInThread(
          () -> {
            try {
              go.await();
            } catch (InterruptedException e) {
              throw new IllegalStateException(e);
            }
            ran.incrementAndGet();
          });
    }
    go.countDown();
    await().until(() -> ran.get() == 5000);
  }

  @Test
  void theThreadsOfAnIdlePoolEnd() {
    ThreadPoolExecutor pool =
        ThreadPoolUtil.newBuilder()
            .poolName("t")
            .enableMetric(true)
            .coreThreads(1)
            .maximumThreads(3)
            .keepAliveSeconds(1L)
            .workQueue(new java.util.concurrent.ArrayBlockingQueue<>(10))
            .threadFactory(new NamedThreadFactory("t-", true))
            .build();
    assertThat(pool.getQueue().remainingCapacity()).isEqualTo(Integer.MAX_VALUE);
    pool.execute(() -> {});
    assertThat(pool.getPoolSize()).isEqualTo(1);
    await().until(() -> pool.getPoolSize() == 0);
    pool.shutdown();
  }
}
