package io.millrace.tools.local;

import io.millrace.client.Admin;
import io.millrace.client.ClusterDescription;
import io.millrace.client.MillraceClient;
import io.millrace.protocol.error.MillraceException;
import io.millrace.tools.CommandFailure;
import io.millrace.tools.ConnectOptions;
import io.millrace.tools.Waits;
import io.millrace.tools.Words;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;

/**
 * Waits until brokers that serve are a cluster: each of them knows a leader of the metadata group
 * and reaches all the others. Each is asked by a client of its own, since a client stays with the
 * broker that answered it first.
 */
final class ClusterReadiness {
  private static final Duration REQUEST_LIMIT = Duration.ofSeconds(2);

  private final List<ClusterFile.Member> members;
  private String obstacle = "no broker has answered";

  ClusterReadiness(List<ClusterFile.Member> members) {
    this.members = List.copyOf(members);
  }

  void await(long deadlineNanos) throws InterruptedException {
    long startNanos = System.nanoTime();
    for (ClusterFile.Member member : members) {
      try (MillraceClient client =
          ConnectOptions.connect(List.of(member.address()), REQUEST_LIMIT)) {
        Duration left = Duration.ofNanos(Math.max(0, deadlineNanos - System.nanoTime()));
        if (!Waits.until(left, () -> isReady(client.admin(), member.id()))) {
          throw new CommandFailure(
              "the brokers serve, but are no cluster after "
                  + Words.millis((System.nanoTime() - startNanos) / 1_000_000)
                  + ": "
                  + obstacle);
        }
      }
    }
  }

  private boolean isReady(Admin admin, int brokerId) throws InterruptedException {
    try {
      ClusterDescription description =
          admin.describeCluster().get(REQUEST_LIMIT.toMillis(), TimeUnit.MILLISECONDS);
      return description.answeringBroker() == brokerId && isConvinced(description);
    } catch (ExecutionException e) {
      if (!(e.getCause() instanceof MillraceException)) {
        throw new CommandFailure("the cluster can not be asked: " + e.getCause(), e);
      }
      obstacle = e.getCause().getMessage();
      return false;
    } catch (TimeoutException e) {
      obstacle = "no answer of broker " + brokerId + " in " + REQUEST_LIMIT.toMillis() + " ms";
      return false;
    }
  }

  private boolean isConvinced(ClusterDescription description) {
    int answering = description.answeringBroker();
    if (description.metadataLeader() == 0) {
      obstacle = "broker " + answering + " knows no leader of the metadata group";
      return false;
    }
    Set<Integer> reached =
        description.brokers().stream()
            .filter(ClusterDescription.Broker::reachable)
            .map(ClusterDescription.Broker::id)
            .collect(Collectors.toSet());
    for (ClusterFile.Member member : members) {
      if (member.id() != answering && !reached.contains(member.id())) {
        obstacle = "broker " + answering + " does not reach broker " + member.id();
        return false;
      }
    }
    return true;
  }
}
