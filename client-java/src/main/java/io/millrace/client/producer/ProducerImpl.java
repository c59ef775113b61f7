package io.millrace.client.producer;

import io.millrace.client.Checks;
import io.millrace.client.Producer;
import io.millrace.client.ProducerConfig;
import io.millrace.client.ProducerRecord;
import io.millrace.client.Receipt;
import io.millrace.client.error.BufferFullException;
import io.millrace.client.error.ClientClosedException;
import io.millrace.client.error.InvalidArgumentException;
import io.millrace.client.internal.ClientContext;
import io.millrace.protocol.batch.BatchWriter;
import io.millrace.protocol.batch.Compression;
import io.millrace.protocol.error.MillraceException;
import io.millrace.protocol.error.Outcome;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * The producer: records go through {@link RecordAppender} into lanes, {@link Sender} sends them.
 *
 * <p>Owns: the sender thread and the memory budget. Threads: see {@link Producer}.
 */
public final class ProducerImpl implements Producer {

  /** What the sender may need to end after it was told to. */
  private static final long STOP_MILLIS = 10_000;

  private static final int CODEC_PROBE_BYTES = 1024;

  private final ClientContext context;
  private final ProducerConfig config;
  private final MemoryBudget budget;
  private final Sender sender;
  private final RecordAppender appender;
  private final Consumer<ProducerImpl> onClose;
  private final CountDownLatch closeDone = new CountDownLatch(1);
  private final Object closeLock = new Object();
  private boolean closeBegun;
  private volatile boolean closing;

  public ProducerImpl(
      ClientContext context, ProducerConfig config, String name, Consumer<ProducerImpl> onClose) {
    this.context = context;
    this.config = config;
    checkCodec(config.compression());
    this.onClose = onClose;
    this.budget = new MemoryBudget(config.bufferBytes());
    Map<String, TopicRoute> routes = new ConcurrentHashMap<>();
    this.sender = new Sender(context, config, budget, routes, name);
    this.appender = sender.appender();
    sender.start();
  }

  /** Native libraries of codecs may be missing on a platform: better said now. */
  private static void checkCodec(Compression compression) {
    try {
      BatchWriter probe = new BatchWriter(compression, CODEC_PROBE_BYTES);
      probe.tryAppend(0, null, new byte[CODEC_PROBE_BYTES / 2], List.of());
      probe.build(0, (short) 0, 0);
    } catch (RuntimeException | LinkageError e) {
      throw new InvalidArgumentException(
          "compression "
              + compression
              + " cannot be used here: "
              + e
              + "; choose another, for example gzip, which needs no native library");
    }
  }

  @Override
  public CompletableFuture<Receipt> send(ProducerRecord record) {
    Checks.notNull("record", record);
    CompletableFuture<Receipt> future = new CompletableFuture<>();
    try {
      checkOpen();
      appender.append(record, future);
    } catch (MillraceException e) {
      future.completeExceptionally(e);
    }
    return future;
  }

  @Override
  public CompletableFuture<Receipt> sendBlocking(ProducerRecord record, long maxBlockMillis)
      throws InterruptedException {
    Checks.notNull("record", record);
    Checks.atLeast("maxBlockMillis", maxBlockMillis, 0);
    CompletableFuture<Receipt> future = new CompletableFuture<>();
    boolean mayWait = !context.callbacks().onCallbackThread();
    long left = mayWait ? TimeUnit.MILLISECONDS.toNanos(maxBlockMillis) : 0;
    while (true) {
      try {
        checkOpen();
        appender.append(record, future);
        return future;
      } catch (BufferFullException e) {
        if (left <= 0) {
          future.completeExceptionally(e);
          return future;
        }
        left = budget.awaitFree(RecordAppender.memoryBytes(record), left);
      } catch (MillraceException e) {
        future.completeExceptionally(e);
        return future;
      }
    }
  }

  private void checkOpen() {
    if (closing) {
      throw new ClientClosedException("the producer is closed", Outcome.NOT_DONE);
    }
  }

  @Override
  public void flush() {
    try {
      awaitFlush(Long.MAX_VALUE);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** False when the time was over. */
  private boolean awaitFlush(long millis) throws InterruptedException {
    CountDownLatch decided = sender.flush();
    // A sender that ends meanwhile has decided everything, but may not see this request any more.
    long left = millis;
    while (!sender.isFinished() && left > 0) {
      long slice = Math.min(left, 100);
      if (decided.await(slice, TimeUnit.MILLISECONDS)) {
        break;
      }
      left -= slice;
    }
    if (decided.getCount() > 0 && !sender.isFinished()) {
      return false;
    }
    if (!context.callbacks().onCallbackThread()) {
      CountDownLatch callbacksRan = new CountDownLatch(1);
      context.callbacks().execute(callbacksRan::countDown);
      return callbacksRan.await(Math.max(1, left), TimeUnit.MILLISECONDS);
    }
    return true;
  }

  @Override
  public void close() {
    close(config.deliveryTimeoutMillis() + (long) config.requestTimeoutMillis());
  }

  @Override
  public void close(long timeoutMillis) {
    Checks.atLeast("timeoutMillis", timeoutMillis, 0);
    boolean first;
    synchronized (closeLock) {
      first = !closeBegun;
      closeBegun = true;
    }
    if (!first) {
      awaitOtherClose(timeoutMillis);
      return;
    }
    closing = true;
    budget.close();
    boolean interrupted = false;
    try {
      awaitFlush(timeoutMillis);
    } catch (InterruptedException e) {
      interrupted = true;
    }
    sender.stop();
    try {
      sender.join(STOP_MILLIS);
    } catch (InterruptedException e) {
      interrupted = true;
    }
    closeDone.countDown();
    onClose.accept(this);
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private void awaitOtherClose(long timeoutMillis) {
    if (context.callbacks().onCallbackThread()) {
      return;
    }
    try {
      closeDone.await(timeoutMillis, TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
