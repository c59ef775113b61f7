package io.millrace.client;

import io.millrace.client.admin.AdminImpl;
import io.millrace.client.error.ClientClosedException;
import io.millrace.client.error.UnreachableException;
import io.millrace.client.internal.Callbacks;
import io.millrace.client.internal.ClientContext;
import io.millrace.client.metadata.ClusterView;
import io.millrace.client.metadata.MetadataCache;
import io.millrace.client.net.Connections;
import io.millrace.client.producer.ProducerImpl;
import io.millrace.client.reader.ReaderImpl;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.error.MillraceException;
import io.millrace.protocol.error.Outcome;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The door to a Millrace cluster: connections and metadata, shared by the producers, readers and
 * the admin made from it. One per application is enough.
 *
 * <p>Owns: one or two event loop threads, one callback thread, one thread per producer; all are
 * daemons and end with close.
 *
 * <p>Threads: all methods from any, close also in a callback.
 *
 * <p>Errors: connect does not wait for a broker, so an application starts without one; {@link
 * #awaitConnected} tells whether one answers.
 */
public final class MillraceClient implements AutoCloseable {

  private static final long CALLBACKS_MILLIS = 10_000;

  private final ClientContext context;
  private final Admin admin;
  private final Set<ProducerImpl> producers = ConcurrentHashMap.newKeySet();
  private final Set<ReaderImpl> readers = ConcurrentHashMap.newKeySet();
  private final AtomicInteger producerNumber = new AtomicInteger();
  private final AtomicBoolean closeBegun = new AtomicBoolean();
  private final CountDownLatch closeDone = new CountDownLatch(1);

  private MillraceClient(ClientConfig config) {
    Connections connections = new Connections(config);
    MetadataCache metadata = new MetadataCache(config, connections);
    this.context =
        new ClientContext(config, connections, metadata, new Callbacks(config.clientId()));
    this.admin = new AdminImpl(context);
  }

  public static MillraceClient connect(ClientConfig config) {
    return new MillraceClient(Checks.notNull("config", config));
  }

  public static MillraceClient connect(String... bootstrap) {
    return connect(ClientConfig.of(bootstrap));
  }

  /**
   * Waits until a broker has answered.
   *
   * @throws UnreachableException with every address and why it failed
   */
  public MillraceClient awaitConnected(long timeoutMillis) {
    try {
      context.metadata().refresh().get(timeoutMillis, TimeUnit.MILLISECONDS);
      return this;
    } catch (TimeoutException e) {
      throw new UnreachableException(
          "no broker answered within " + timeoutMillis + " ms", context.metadata().failures());
    } catch (ExecutionException e) {
      if (e.getCause() instanceof MillraceException failure) {
        throw failure;
      }
      throw new IllegalStateException(e.getCause());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new MillraceException(ErrorCode.INTERRUPTED, "interrupted while connecting");
    }
  }

  public Producer producer(ProducerConfig config) {
    checkOpen();
    String name =
        "millrace-producer-" + context.config().clientId() + "-" + producerNumber.incrementAndGet();
    ProducerImpl producer =
        new ProducerImpl(context, Checks.notNull("config", config), name, producers::remove);
    producers.add(producer);
    if (closeBegun.get()) {
      producer.close(0);
      checkOpen();
    }
    return producer;
  }

  public Reader reader(ReaderConfig config) {
    checkOpen();
    ReaderImpl reader = new ReaderImpl(context, Checks.notNull("config", config), readers::remove);
    readers.add(reader);
    if (closeBegun.get()) {
      reader.close();
      checkOpen();
    }
    return reader;
  }

  public Admin admin() {
    return admin;
  }

  private void checkOpen() {
    if (closeBegun.get()) {
      throw new ClientClosedException("the client is closed", Outcome.NOT_DONE);
    }
  }

  /** Closes producers after a flush within their delivery timeouts, readers, and connections. */
  @Override
  public void close() {
    close(ProducerConfig.DEFAULT_DELIVERY_TIMEOUT_MILLIS);
  }

  /**
   * @param timeoutMillis for the producers' flush, all together
   */
  public void close(long timeoutMillis) {
    Checks.atLeast("timeoutMillis", timeoutMillis, 0);
    if (!closeBegun.compareAndSet(false, true)) {
      awaitOtherClose(timeoutMillis);
      return;
    }
    long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMillis);
    for (ProducerImpl producer : producers) {
      long left = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
      producer.close(Math.max(0, left));
    }
    readers.forEach(ReaderImpl::close);
    context.metadata().close();
    context.connections().close();
    context.callbacks().close(CALLBACKS_MILLIS);
    closeDone.countDown();
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

  /** Asks a broker now; for tests and diagnosis. */
  void refreshMetadata() {
    context.metadata().refreshSoon();
  }

  /** What is known of brokers and topics now; for tests and diagnosis. */
  ClusterView view() {
    return context.metadata().view();
  }
}
