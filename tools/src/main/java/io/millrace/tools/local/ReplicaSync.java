package io.millrace.tools.local;

import io.millrace.client.MillraceClient;
import io.millrace.tools.CommandFailure;
import io.millrace.tools.ConnectOptions;
import io.millrace.tools.Words;
import java.io.IOException;
import java.time.Duration;
import java.util.Optional;

/**
 * Waits until every broker of a local cluster answers and every replica has all that its leader
 * has. Meant for a cluster without traffic: under traffic some replica is always a little behind.
 */
public final class ReplicaSync {
  private static final Duration ANSWER_LIMIT = Duration.ofSeconds(5);

  /** Each look asks every broker about every replica, so not often. */
  private static final long POLL_MILLIS = 250;

  private ReplicaSync() {}

  /**
   * @throws CommandFailure that says what is still missing when the time is over
   */
  public static void await(LocalCluster cluster, Duration limit)
      throws IOException, InterruptedException {
    long startNanos = System.nanoTime();
    try (MillraceClient client = ConnectOptions.connect(cluster.file().addresses(), ANSWER_LIMIT)) {
      while (true) {
        // Made anew each time: it looks at the processes when it is made.
        ClusterView view = new ClusterSurvey(cluster).ask(client.admin(), ANSWER_LIMIT);
        Optional<String> missing = view.notInSync();
        Duration taken = Duration.ofNanos(System.nanoTime() - startNanos);
        if (missing.isEmpty()) {
          return;
        }
        if (taken.compareTo(limit) > 0) {
          throw new CommandFailure(
              "the replicas are not in sync after "
                  + Words.millis(taken.toMillis())
                  + ": "
                  + missing.get());
        }
        Thread.sleep(POLL_MILLIS);
      }
    }
  }
}
