package io.millrace.broker;

import io.millrace.broker.cluster.Balancer;
import io.millrace.broker.cluster.LeaderDirectory;
import io.millrace.broker.cluster.LeaderMover;
import io.millrace.broker.cluster.ReplicaId;
import io.millrace.broker.partition.Partition;
import io.millrace.broker.raft.Replica;
import io.millrace.broker.raft.Replicas;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.function.IntPredicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Hands the leadership of partitions of this broker over, always drained: the sequencer closes,
 * what is in flight commits, then the transfer begins. Otherwise a batch could be refused by the
 * transfer and a later one of the same producer be taken after it failed.
 *
 * <p>Owns: one thread, because JRaft's transfer takes the node's lock.
 *
 * <p>Threads: any.
 */
final class LeaderTransfers implements AutoCloseable {

  private static final Logger LOG = LoggerFactory.getLogger(LeaderTransfers.class);

  private static final long DRAIN_MILLIS = 3000;
  private static final long POLL_MILLIS = 5;

  private final int brokerId;
  private final LocalPartitions partitions;
  private final Replicas replicas;
  private final IntPredicate reachable;
  private final ExecutorService worker;

  LeaderTransfers(
      int brokerId, LocalPartitions partitions, Replicas replicas, IntPredicate reachable) {
    this.brokerId = brokerId;
    this.partitions = partitions;
    this.replicas = replicas;
    this.reachable = reachable;
    this.worker =
        Executors.newSingleThreadExecutor(
            task -> {
              Thread thread = new Thread(task, "leader-transfers-" + brokerId);
              thread.setDaemon(true);
              return thread;
            });
  }

  CompletableFuture<LeaderMover.Answer> move(Balancer.Move move) {
    LeaderDirectory.Key key = move.key();
    Partition partition = partitions.find(key.topicId(), key.partition());
    Replica replica = replicas.running(ReplicaId.groupName(key.topicId(), key.partition()));
    if (partition == null || replica == null || partition.leadingTerm() == 0) {
      return CompletableFuture.completedFuture(
          new LeaderMover.Answer(false, "broker " + brokerId + " does not lead " + key));
    }
    if (!reachable.test(move.to())) {
      return CompletableFuture.completedFuture(
          new LeaderMover.Answer(
              false, "broker " + move.to() + " is not connected to " + brokerId));
    }
    return transfer(partition, replica, move.to());
  }

  private CompletableFuture<LeaderMover.Answer> transfer(
      Partition partition, Replica replica, int to) {
    return partition
        .closeForTransfer()
        .orTimeout(DRAIN_MILLIS, TimeUnit.MILLISECONDS)
        .handleAsync(
            (drained, failure) -> {
              if (failure == null && replica.transferLeadership(to)) {
                return new LeaderMover.Answer(true, "");
              }
              partition.reopenAfterNoTransfer();
              return new LeaderMover.Answer(
                  false,
                  failure == null
                      ? "the Raft group refused the transfer"
                      : "batches in flight were not committed within " + DRAIN_MILLIS + " ms");
            },
            worker);
  }

  /**
   * Hands over everything that this broker leads before it stops, and waits until others lead or
   * the time is up. Blocks.
   */
  void handOverAll(long maxMillis) throws InterruptedException {
    long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(maxMillis);
    List<Partition> led = new ArrayList<>();
    for (Partition partition : partitions.all()) {
      Replica replica =
          replicas.running(
              ReplicaId.groupName(partition.id().topicId(), partition.id().partition()));
      Integer to = replica == null || partition.leadingTerm() == 0 ? null : successor(replica);
      if (to != null) {
        transfer(partition, replica, to);
        led.add(partition);
      }
    }
    while (led.stream().anyMatch(p -> p.leadingTerm() != 0) && System.nanoTime() < deadline) {
      TimeUnit.MILLISECONDS.sleep(POLL_MILLIS);
    }
    long kept = led.stream().filter(p -> p.leadingTerm() != 0).count();
    LOG.info("handed over {} of {} leaders", led.size() - kept, led.size());
  }

  /** A connected member, another one for each group so that not all go to the same broker. */
  private Integer successor(Replica replica) {
    List<Integer> candidates =
        replica.memberBrokers().stream().filter(b -> b != brokerId && reachable.test(b)).toList();
    return candidates.isEmpty()
        ? null
        : candidates.get(Math.floorMod(replica.name().hashCode(), candidates.size()));
  }

  @Override
  public void close() {
    worker.shutdownNow();
  }
}
