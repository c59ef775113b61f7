package io.millrace.client.metadata;

import com.google.protobuf.Message;
import io.millrace.client.error.UnreachableException;
import io.millrace.client.net.Answer;
import io.millrace.client.net.Api;
import io.millrace.client.net.Backoff;
import io.millrace.client.net.BrokerAddress;
import io.millrace.client.net.BrokerErrorException;
import io.millrace.client.net.Connections;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.error.MillraceException;
import io.millrace.protocol.error.Outcome;
import io.netty.buffer.ByteBuf;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.LongFunction;

/**
 * Requests that any broker can answer, repeated at other brokers until the time is over.
 *
 * <p>Threads: any; futures complete on an event loop.
 *
 * <p>Errors: what the broker refused for good; {@link UnreachableException} when no broker could be
 * asked; else the last error. A request that is not idempotent is repeated only while it certainly
 * was not carried out.
 */
public final class AnyBroker {

  private static final Backoff BACKOFF = new Backoff(50, 1_000);

  /** A broker that is silent for so long is passed over for the next one; doubles each round. */
  private static final long READ_ATTEMPT_MILLIS = 500;

  private static final int MOST_DOUBLINGS = 3;

  private final Connections connections;
  private final BrokerPicker picker;

  AnyBroker(Connections connections, BrokerPicker picker) {
    this.connections = connections;
    this.picker = picker;
  }

  /**
   * @param request makes the header from the milliseconds that this attempt waits
   */
  public <R extends Message> CompletableFuture<R> call(
      Api<R> api, LongFunction<? extends Message> request, long timeoutMillis, boolean idempotent) {
    Call<R> call = new Call<>(api, request, timeoutMillis, idempotent);
    call.attempt();
    return call.result;
  }

  private final class Call<R extends Message> implements Answer<R> {
    private final CompletableFuture<R> result = new CompletableFuture<>();
    private final Api<R> api;
    private final LongFunction<? extends Message> request;
    private final boolean idempotent;
    private final long timeoutMillis;
    private final long deadlineNanos;
    private final Map<String, String> unreachable = new TreeMap<>();
    private final Set<BrokerAddress> tried = new HashSet<>();
    private MillraceException lastAnswer;
    private BrokerAddress current;
    private int rounds;

    Call(
        Api<R> api,
        LongFunction<? extends Message> request,
        long timeoutMillis,
        boolean idempotent) {
      this.api = api;
      this.request = request;
      this.idempotent = idempotent;
      this.timeoutMillis = timeoutMillis;
      this.deadlineNanos = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMillis);
    }

    private long leftMillis() {
      return TimeUnit.NANOSECONDS.toMillis(deadlineNanos - System.nanoTime());
    }

    /** One at a time: the next begins when the answer of the last is here. */
    void attempt() {
      long left = leftMillis();
      if (left <= 0) {
        giveUp();
        return;
      }
      current = picker.next(tried);
      if (current == null) {
        tried.clear();
        later(BACKOFF.nanos(rounds++));
        return;
      }
      tried.add(current);
      long wait = idempotent ? Math.min(left, readAttemptMillis()) : left;
      connections.send(current, 0, api, request.apply(wait), null, wait, this);
    }

    private long readAttemptMillis() {
      return READ_ATTEMPT_MILLIS << Math.min(rounds, MOST_DOUBLINGS);
    }

    private void later(long nanos) {
      long left = deadlineNanos - System.nanoTime();
      try {
        connections.timer().schedule(this::attempt, Math.min(nanos, left), TimeUnit.NANOSECONDS);
      } catch (RejectedExecutionException e) {
        result.completeExceptionally(
            new MillraceException(ErrorCode.CLIENT_CLOSED, "the client is closed"));
      }
    }

    private void giveUp() {
      result.completeExceptionally(
          lastAnswer != null
              ? lastAnswer
              : new UnreachableException(
                  "no broker answered " + api.kind() + " within " + timeoutMillis + " ms",
                  unreachable));
    }

    @Override
    public void done(R response, ByteBuf payload) {
      result.complete(response);
    }

    @Override
    public void failed(MillraceException failure) {
      if (failure.code() == ErrorCode.CLIENT_CLOSED) {
        result.completeExceptionally(failure);
        return;
      }
      boolean repeatable =
          failure.retriable() && (idempotent || failure.outcome() == Outcome.NOT_DONE);
      if (!repeatable) {
        result.completeExceptionally(failure);
        return;
      }
      if (failure instanceof BrokerErrorException answered) {
        lastAnswer = failure;
        later(
            Math.max(
                BACKOFF.nanos(rounds++), TimeUnit.MILLISECONDS.toNanos(answered.throttleMillis())));
        return;
      }
      unreachable.put(current.toString(), reason(failure));
      attempt();
    }

    private String reason(MillraceException failure) {
      String text = failure.getMessage();
      String prefix = failure.code() + ": ";
      text = text.startsWith(prefix) ? text.substring(prefix.length()) : text;
      String address = current + ": ";
      return text.startsWith(address) ? text.substring(address.length()) : text;
    }
  }
}
