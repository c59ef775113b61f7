package io.millrace.client;

import java.util.concurrent.CompletableFuture;

/**
 * Sends records. One producer serves any number of threads and topics.
 *
 * <p>Order: records that one thread sends to one partition are stored in the order of its calls,
 * retries included, each once.
 *
 * <p>Threads: all methods from any thread, also inside a callback of a future. Futures complete on
 * the client's one callback thread: a slow callback delays other callbacks, never the network; a
 * callback must not wait for another future of this client.
 *
 * <p>Errors: a future fails with a {@link io.millrace.protocol.error.MillraceException} whose
 * {@code outcome()} says whether the record is certainly not stored (NOT_DONE) or may be (UNKNOWN).
 * Nothing is thrown by {@code send}.
 */
public interface Producer extends AutoCloseable {

  /**
   * Returns at once, whether brokers are up or not. When the producer's memory is used up the
   * future has failed with {@link io.millrace.client.error.BufferFullException}.
   */
  CompletableFuture<Receipt> send(ProducerRecord record);

  /**
   * As {@link #send}, but waits up to {@code maxBlockMillis} for memory. On the callback thread it
   * does not wait, because memory comes free only when callbacks have run.
   */
  CompletableFuture<Receipt> sendBlocking(ProducerRecord record, long maxBlockMillis)
      throws InterruptedException;

  /**
   * Sends what waits without regard to the linger time and returns when every record sent before is
   * decided and, unless this is the callback thread, its future complete. Ends at the delivery
   * timeout at the latest. An interrupt ends the wait and stays set.
   */
  void flush();

  /** Closes after a flush, within the delivery timeout. */
  @Override
  void close();

  /**
   * Takes no further records, flushes for at most {@code timeoutMillis}, and fails what is left
   * with {@link io.millrace.client.error.ClientClosedException}, whose outcome says whether the
   * record may be stored. Calling it again is harmless.
   */
  void close(long timeoutMillis);
}
