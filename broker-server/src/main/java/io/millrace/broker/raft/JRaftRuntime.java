package io.millrace.broker.raft;

import com.alipay.sofa.jraft.NodeManager;
import com.alipay.sofa.jraft.util.Endpoint;
import com.alipay.sofa.jraft.util.NamedThreadFactory;
import com.alipay.sofa.jraft.util.ThreadPoolsFactory;
import com.alipay.sofa.jraft.util.concurrent.DefaultFixedThreadsExecutorGroupFactory;
import com.alipay.sofa.jraft.util.concurrent.FixedThreadsExecutorGroup;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * The one owner of what JRaft keeps per process: thread pools, the table of server addresses and
 * the system properties that its static initialisers read.
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
          // Heartbeats and closures run here; the pool aborts when full (rpc/RpcUtils).
          "jraft.rpc.closure.threadpool.size.max", "4096",
          "jraft.closure.threadpool.size.max", "4096",
          "jraft.internal.closure.threadpool.size.max", "1024",
          "jraft.append.entries.threads.send", "4",
          // Up to 256 cached buffers of up to 4 MiB per thread otherwise.
          "jraft.max_collector_size_per_thread", "16",
          "jraft.timer.global_election_timer_workers", "4",
          "jraft.timer.global_vote_timer_workers", "4",
          "jraft.timer.global_step_down_timer_workers", "4",
          "jraft.timer.global_scheduler_workers", "4",
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

  /** Makes the properties take effect; call before any other use of JRaft. */
  public static void ensureStarted() {
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
    static final FixedThreadsExecutorGroup APPEND_ENTRIES =
        DefaultFixedThreadsExecutorGroupFactory.INSTANCE.newExecutorGroup(
            APPEND_ENTRIES_THREADS, "millrace-append-entries-", Integer.MAX_VALUE, true);

    private static ThreadPoolExecutor closures() {
      ThreadPoolExecutor pool =
          new ThreadPoolExecutor(
              CLOSURE_THREADS,
              CLOSURE_THREADS,
              10,
              TimeUnit.SECONDS,
              new LinkedBlockingQueue<>(),
              new NamedThreadFactory("millrace-raft-closure-", true));
      pool.allowCoreThreadTimeOut(true);
      return pool;
    }
  }
}
