package io.millrace.broker.cluster;

import io.millrace.protocol.message.TopicSettings;
import java.io.IOException;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The replicas of this broker and their directories, as the {@link Reconciler} drives them. Every
 * method is idempotent: after a crash the reconciler calls it again.
 *
 * <p>Threads: called on the reconciler's thread only; may block on the disk.
 *
 * <p>Errors: an IOException is retried with back-off and shown.
 */
public interface LocalReplicas {

  /** What a replica's directory is. */
  enum DirectoryState {
    MISSING,
    /** There, but without the identity that {@link #createDirectory} writes last. */
    EMPTY,
    /** Created completely: its identity names this replica. */
    PRESENT,
    /** Its identity names another cluster, idx or incarnation. */
    FOREIGN
  }

  /**
   * A replica to start.
   *
   * @param peers all replicas of the partition, the initial configuration of its Raft group
   */
  record Start(ReplicaId id, String topic, TopicSettings settings, List<ReplicaEntry> peers) {
    public Start {
      peers = List.copyOf(peers);
    }
  }

  /**
   * Replicas that were started, in whatever role or health: also those that {@link #start} took but
   * that may not run in Raft now. They are not started again.
   */
  Set<ReplicaId> running();

  /**
   * All replica directories, whether they run or not; those set aside do not count. Where the idx
   * cannot be read it is 0.
   */
  Set<ReplicaId> directories();

  DirectoryState directory(ReplicaId id);

  /**
   * Creates the directory with the replica's identity in it.
   *
   * <p>Durability: when this returns, directory and identity survive a power cut; the identity is
   * written last, so a half made directory is EMPTY.
   */
  void createDirectory(ReplicaId id) throws IOException;

  /**
   * As {@link #createDirectory} for each of them; implementations may do several at once, because
   * each waits for the disk a few times.
   *
   * @return what went wrong, by replica; the others are created
   */
  default Map<ReplicaId, Exception> createDirectories(Collection<ReplicaId> ids) {
    Map<ReplicaId, Exception> failures = new HashMap<>();
    for (ReplicaId id : ids) {
      try {
        createDirectory(id);
      } catch (IOException | RuntimeException e) {
        failures.put(id, e);
      }
    }
    return failures;
  }

  /**
   * Starts the replica in its directory, which must be PRESENT: this never creates one.
   *
   * <p>A directory without any log is right only before the first start; implementations remember
   * durably that a first start happened.
   */
  void start(Start replica) throws IOException;

  /**
   * Stops the replica if it runs and moves its directory, if there is one, out of the way. Nothing
   * is deleted. Forgets a mark of {@link #markNotStarted}.
   *
   * <p>Durability: when this returns the move survives a power cut.
   */
  void stopAndSetAside(ReplicaId id) throws IOException;

  /** Deletes what was set aside for a replica of a deleted topic; nothing there is fine. */
  void deleteSetAside(ReplicaId id) throws IOException;

  /**
   * Makes a new directory for a replica whose own is gone, if this broker still knows what it has
   * voted: then it can be completed from the others and keeps its identity.
   *
   * <p>Durability: before the directory exists it is noted that the replica must not vote.
   *
   * @return false if that is not so; nothing was changed
   */
  default boolean recreateLost(ReplicaId id) throws IOException {
    return false;
  }

  /** The replica is not started and why; shown in the broker's status until it starts. */
  void markNotStarted(ReplicaId id, String topic, String reason);
}
