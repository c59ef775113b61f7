package io.millrace.broker.cluster;

import io.millrace.broker.cluster.message.MetadataResult;
import io.millrace.broker.cluster.message.ProducerIdBlock;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.error.MillraceException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;

/**
 * Gives producer ids out of blocks that the metadata group hands to this broker. An id is given at
 * most once, ever: what is left of a block is forgotten when the broker stops.
 *
 * <p>Owns: the present block, and the requests that wait for the next one.
 *
 * <p>Threads: any; nothing blocks.
 */
public final class ProducerIds {

  public static final int BLOCK = 1000;

  /** Requests beyond this wait for nobody: each holds a connection and a new client retries. */
  static final int MAX_WAITING = 10_000;

  static final long FETCH_TIMEOUT_MILLIS = 10_000;

  private final int self;
  private final MetadataService metadata;
  private final Queue<CompletableFuture<Long>> waiting = new ArrayDeque<>();
  private long next;
  private long end;
  private boolean fetching;

  public ProducerIds(int localBrokerId, MetadataService metadata) {
    self = localBrokerId;
    this.metadata = metadata;
  }

  /**
   * @return a new id, or failed with a MillraceException of outcome NOT_DONE: no id was given, and
   *     one that may have been reserved is never used
   */
  public CompletableFuture<Long> next() {
    CompletableFuture<Long> future = new CompletableFuture<>();
    boolean fetch = false;
    synchronized (this) {
      if (next < end) {
        future.complete(next++);
      } else if (waiting.size() >= MAX_WAITING) {
        future.completeExceptionally(
            new MillraceException(
                ErrorCode.THROTTLED,
                MAX_WAITING + " requests wait for a producer id: wait a little"));
      } else {
        waiting.add(future);
        fetch = !fetching;
        fetching = true;
      }
    }
    if (fetch) {
      fetchBlock();
    }
    return future;
  }

  private void fetchBlock() {
    metadata
        .submit(MetadataCommands.allocateProducerIds(self, BLOCK), FETCH_TIMEOUT_MILLIS)
        .thenAccept(this::fetched);
  }

  private void fetched(MetadataResult result) {
    List<Runnable> answers = new ArrayList<>();
    boolean fetch;
    synchronized (this) {
      if (MetadataResults.isDone(result)) {
        ProducerIdBlock block = result.getProducerIds();
        next = block.getFirst();
        end = block.getFirst() + block.getCount();
        while (next < end && !waiting.isEmpty()) {
          CompletableFuture<Long> future = waiting.remove();
          long id = next++;
          answers.add(() -> future.complete(id));
        }
      } else {
        MillraceException failure =
            new MillraceException(
                ErrorCode.NO_METADATA_LEADER,
                "no producer ids could be reserved: " + result.getErrorText());
        waiting.forEach(future -> answers.add(() -> future.completeExceptionally(failure)));
        waiting.clear();
      }
      fetch = !waiting.isEmpty();
      fetching = fetch;
    }
    answers.forEach(Runnable::run);
    if (fetch) {
      fetchBlock();
    }
  }
}
