package io.millrace.broker.raft;

import com.alipay.sofa.jraft.NodeManager;
import com.alipay.sofa.jraft.util.Endpoint;
import com.alipay.sofa.jraft.util.NamedThreadFactory;
import com.alipay.sofa.jraft.util.ThreadPoolsFactory;
import com.alipay.sofa.jraft.util.concurrent.DefaultFixedThreadsExecutorGroup;
import com.alipay.sofa.jraft.util.concurrent.FixedThreadsExecutorGroup;
import io.millrace.broker.raft.threads.InPlaceOfJRaft;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * The one owner of what JRaft keeps per process: thread pools, the table of server addresses and
 * the system properties that its static initialisers read. Where JRaft's threads come from is in
 * {@link io.millrace.broker.raft.threads}.
 *
 * <p>Owns: two pools shared by all groups of all brokers in this JVM. They are never shut down,
 * since JRaft has no way to unregister a group's pool; their threads are daemons and end when idle.
 *
 * <p>Why pools of our own: JRaft's default ones are a SynchronousQueue with an abort policy. A
 * rejection in the pool that wakes replicators stops replication to that follower for good while
 * heartbeats stay green (sofa-jraft #1271). Ours queue, and what can be queued is bounded by the
 * admission control in front of the groups.
 */
public final class JRaftRuntime {

  /**
   * Read by static initialisers of JRaft, so they must be set before its first class loads. A value
   * given on the command line wins.
   */
  private static final Map<String, String> PROPERTIES =
      Map.of(
          // No cache of buffers for entries. Its limit holds for buffers that come back on the
          // thread that took them; ours mostly come back on another one, and those are kept without
          // any limit: a follower that catches up filled the leader's heap.
          "jraft.max_collector_size_per_thread", "0",
          "com.google.protobuf.use_unsafe_pre22_gencode", "true");

  private static final int CLOSURE_THREADS = 8;
  private static final int APPEND_ENTRIES_THREADS = 2;

  static {
    PROPERTIES.forEach(
        (name, value) -> {
          if (System.getProperty(name) == null) {
            System.setProperty(name, value);
          }
        });
  }

  private JRaftRuntime() {}

  /**
   * Makes the properties take effect; call before any other use of JRaft.
   *
   * @throws IllegalStateException if the class path has JRaft before this broker, see {@link
   *     InPlaceOfJRaft}
   */
  public static void ensureStarted() {
    InPlaceOfJRaft.check();
    Holder.CLOSURES.getPoolSize();
  }

  /** Gives a group the shared pool; idempotent, because a group id may start again in this JVM. */
  static void registerGroup(String jraftGroupId) {
    if (Holder.GROUPS.add(jraftGroupId)) {
      ThreadPoolsFactory.registerThreadPool(jraftGroupId, Holder.CLOSURES);
    }
  }

  /** JRaft refuses to start a node whose endpoint no server serves; ours are symbolic. */
  static void registerEndpoint(Endpoint endpoint) {
    NodeManager.getInstance().addAddress(endpoint);
  }

  static FixedThreadsExecutorGroup appendEntriesExecutors() {
    return Holder.APPEND_ENTRIES;
  }

  private static final class Holder {
    static final Set<String> GROUPS = ConcurrentHashMap.newKeySet();
    static final ThreadPoolExecutor CLOSURES = closures();
    static final FixedThreadsExecutorGroup APPEND_ENTRIES = appendEntries();

    private static ThreadPoolExecutor closures() {
      return pool(CLOSURE_THREADS, "millrace-raft-closure-");
    }

    /**
     * Plain pools of one thread. JRaft's default ones go to sleep for a second without a last look
     * at their queue (MpscSingleThreadExecutor), so that an answer that comes at the wrong moment
     * waits so long.
     */
    private static FixedThreadsExecutorGroup appendEntries() {
      ExecutorService[] threads = new ExecutorService[APPEND_ENTRIES_THREADS];
      for (int i = 0; i < threads.length; i++) {
        threads[i] = pool(1, "millrace-append-entries-" + (i + 1) + "-");
      }
      return new DefaultFixedThreadsExecutorGroup(threads);
    }

    private static ThreadPoolExecutor pool(int threads, String prefix) {
      ThreadPoolExecutor pool =
          new ThreadPoolExecutor(
              threads,
              threads,
              10,
              TimeUnit.SECONDS,
              new LinkedBlockingQueue<>(),
              new NamedThreadFactory(prefix, true));
      pool.allowCoreThreadTimeOut(true);
      return pool;
    }
  }
}
