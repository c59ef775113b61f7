package io.millrace.broker.cluster;

import io.millrace.broker.cluster.message.MetadataResult;
import io.millrace.protocol.error.ErrorCode;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Registers this broker with the cluster at start and whenever its address changes, and tries until
 * it is committed.
 *
 * <p>The registration is also the proof that the local metadata is not behind: it is an entry of
 * this process's life, so a state that contains it contains everything that was committed before
 * the process began. {@link #isCaughtUp} is that proof; without it a broker that lags would take
 * directories for foreign ones, or a lost directory for a new one.
 *
 * <p>Owns: one registration in flight at a time.
 *
 * <p>Threads: any; nothing blocks.
 *
 * <p>Errors: a refusal (another data directory under this id, too old a version) is final and
 * reported once: this process must not take part in the cluster.
 */
public final class BrokerRegistrar implements AutoCloseable {

  static final long ATTEMPT_MILLIS = 10_000;
  static final long FIRST_PAUSE_MILLIS = 200;
  static final long MAX_PAUSE_MILLIS = 5000;

  private static final Logger LOG = LoggerFactory.getLogger(BrokerRegistrar.class);

  private final MetadataService metadata;
  private final Scheduler scheduler;
  private final Consumer<String> refused;
  private BrokerEntry wanted;
  private BrokerEntry inFlight;
  private long pauseMillis = FIRST_PAUSE_MILLIS;
  private Scheduler.Scheduled retry;
  private boolean closed;
  private volatile long registeredIndex = Long.MAX_VALUE;
  private volatile String refusal;

  /**
   * @param refused told the reason of a final refusal, once
   */
  public BrokerRegistrar(MetadataService metadata, Scheduler scheduler, Consumer<String> refused) {
    this.metadata = metadata;
    this.scheduler = scheduler;
    this.refused = refused;
  }

  /** Registers the broker as it is now; called again when something of it changed. */
  public void register(BrokerEntry broker) {
    synchronized (this) {
      wanted = broker;
      if (inFlight != null || closed || refusal != null) {
        return;
      }
      if (retry != null) {
        retry.cancel();
        retry = null;
      }
    }
    attempt();
  }

  /** True once the local state contains a registration of this process. */
  public boolean isCaughtUp() {
    return isCaughtUp(metadata.state());
  }

  /** True of a state that contains a registration of this process. */
  public boolean isCaughtUp(MetadataState state) {
    return state.index() >= registeredIndex;
  }

  /** Why this broker may not take part; null if nothing speaks against it. */
  public String refusal() {
    return refusal;
  }

  private void attempt() {
    BrokerEntry broker;
    synchronized (this) {
      if (closed || inFlight != null || refusal != null) {
        return;
      }
      retry = null;
      broker = wanted;
      inFlight = broker;
    }
    metadata
        .submit(MetadataCommands.registerBroker(broker), ATTEMPT_MILLIS)
        .thenAccept(result -> ended(broker, result));
  }

  private void ended(BrokerEntry broker, MetadataResult result) {
    ErrorCode code = MetadataResults.code(result);
    boolean again;
    String finalRefusal = null;
    synchronized (this) {
      inFlight = null;
      again = !broker.equals(wanted);
      if (MetadataResults.isDone(result)) {
        pauseMillis = FIRST_PAUSE_MILLIS;
        if (registeredIndex == Long.MAX_VALUE) {
          registeredIndex = result.getIndex();
        }
        LOG.info(
            "broker {} is registered at {}:{}, metadata index {}",
            broker.id(),
            broker.host(),
            broker.port(),
            result.getIndex());
      } else if (isFinal(code)) {
        finalRefusal = result.getErrorText();
        refusal = finalRefusal;
        again = false;
      } else {
        // Registering twice does no harm, so an unknown outcome is simply tried again.
        LOG.info(
            "broker {} is not registered yet, next attempt in {} ms: {}",
            broker.id(),
            pauseMillis,
            result.getErrorText());
        if (!closed) {
          retry = scheduler.schedule(pauseMillis, this::attempt);
        }
        pauseMillis = Math.min(MAX_PAUSE_MILLIS, pauseMillis * 2);
        again = false;
      }
    }
    if (finalRefusal != null) {
      refused.accept(finalRefusal);
    } else if (again) {
      attempt();
    }
  }

  private static boolean isFinal(ErrorCode code) {
    return switch (code) {
      case INCARNATION_MISMATCH, UNSUPPORTED_VERSION, REFUSED -> true;
      default -> false;
    };
  }

  @Override
  public synchronized void close() {
    closed = true;
    if (retry != null) {
      retry.cancel();
    }
  }
}
