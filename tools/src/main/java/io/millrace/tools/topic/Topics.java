package io.millrace.tools.topic;

import io.millrace.client.Admin;
import io.millrace.client.TopicDescription;
import io.millrace.client.TopicSpec;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.error.MillraceException;
import io.millrace.protocol.error.Outcome;
import io.millrace.tools.Calls;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.IntFunction;

/** All topics with their descriptions. */
public final class Topics {
  private static final long RETRY_MILLIS = 200;

  private Topics() {}

  /** Sorted by name; a topic deleted meanwhile is left out. */
  public static CompletableFuture<List<TopicDescription>> all(Admin admin) {
    return admin
        .listTopics()
        .thenCompose(
            names -> {
              List<CompletableFuture<TopicDescription>> each =
                  names.stream().map(name -> orNull(admin.describeTopic(name))).toList();
              return CompletableFuture.allOf(each.toArray(CompletableFuture[]::new))
                  .thenApply(
                      done ->
                          each.stream()
                              .map(CompletableFuture::join)
                              .filter(Objects::nonNull)
                              .toList());
            });
  }

  /**
   * The topic, made when it does not exist. Goes on through failures that may pass, within twice
   * the request timeout.
   *
   * @param spec of a new topic, given the number of brokers
   */
  public static TopicDescription ensure(
      Admin admin, String topic, IntFunction<TopicSpec> spec, Duration requestTimeout)
      throws InterruptedException {
    long deadline = System.nanoTime() + requestTimeout.toNanos();
    while (true) {
      try {
        return Calls.await(admin.describeTopic(topic), requestTimeout);
      } catch (MillraceException e) {
        if (e.code() != ErrorCode.UNKNOWN_TOPIC) {
          throw e;
        }
      }
      try {
        int brokers = Calls.await(admin.describeCluster(), requestTimeout).brokers().size();
        return Calls.await(admin.createTopic(spec.apply(brokers)), requestTimeout);
      } catch (MillraceException e) {
        // Somebody else may have made it, or we without hearing of it: the next look tells.
        boolean mayPass =
            e.code() == ErrorCode.TOPIC_EXISTS || e.retriable() || e.outcome() == Outcome.UNKNOWN;
        if (!mayPass || System.nanoTime() - deadline >= 0) {
          throw e;
        }
        Thread.sleep(RETRY_MILLIS);
      }
    }
  }

  private static CompletableFuture<TopicDescription> orNull(
      CompletableFuture<TopicDescription> description) {
    return description.exceptionally(
        failure -> {
          Throwable cause = failure instanceof CompletionException ? failure.getCause() : failure;
          if (cause instanceof MillraceException typed && typed.code() == ErrorCode.UNKNOWN_TOPIC) {
            return null;
          }
          throw new CompletionException(cause);
        });
  }
}
