package io.millrace.tools;

import io.millrace.protocol.error.MillraceException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Waits for answers of the client, with the client's own failures as they are. */
public final class Calls {
  /** The client ends each request by itself; this only guards against one that does not. */
  private static final Duration GRACE = Duration.ofSeconds(5);

  private Calls() {}

  public static <T> T await(CompletableFuture<T> answer, Duration requestTimeout)
      throws InterruptedException {
    long limitMillis = requestTimeout.plus(GRACE).toMillis();
    try {
      return answer.get(limitMillis, TimeUnit.MILLISECONDS);
    } catch (ExecutionException e) {
      if (e.getCause() instanceof MillraceException typed) {
        throw typed;
      }
      throw new IllegalStateException(e.getCause());
    } catch (TimeoutException e) {
      throw new CommandFailure(
          "no answer in " + Words.millis(limitMillis) + "; outcome unknown, look before repeating",
          e);
    }
  }
}
