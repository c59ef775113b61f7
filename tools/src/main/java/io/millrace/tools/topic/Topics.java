package io.millrace.tools.topic;

import io.millrace.client.Admin;
import io.millrace.client.TopicDescription;
import io.millrace.client.TopicSpec;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.error.MillraceException;
import io.millrace.protocol.error.Outcome;
import io.millrace.tools.Calls;
import io.millrace.tools.CommandFailure;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.IntFunction;
import java.util.stream.IntStream;

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
   * The topic, which must exist.
   *
   * @throws CommandFailure when it does not, with the nearest name that does
   */
  public static TopicDescription existing(Admin admin, String topic, Duration requestTimeout)
      throws InterruptedException {
    try {
      return Calls.await(admin.describeTopic(topic), requestTimeout);
    } catch (MillraceException e) {
      throw explained(e, admin, topic, requestTimeout);
    }
  }

  /** A failure of a call about the topic, with help when there is no such topic. */
  static RuntimeException explained(
      MillraceException failure, Admin admin, String topic, Duration requestTimeout)
      throws InterruptedException {
    if (failure.code() != ErrorCode.UNKNOWN_TOPIC) {
      return failure;
    }
    List<String> names;
    try {
      names = Calls.await(admin.listTopics(), requestTimeout);
    } catch (MillraceException unlisted) {
      failure.addSuppressed(unlisted);
      return failure;
    }
    return new CommandFailure(unknown(failure.getMessage(), topic, names), failure);
  }

  static String unknown(String message, String topic, List<String> names) {
    return message
        + nearest(topic, names).map(name -> "; did you mean " + name + "?").orElse("")
        + " (see: bin/millrace topic list)";
  }

  /** The existing name that a typing error could have made into this one. */
  static Optional<String> nearest(String topic, List<String> names) {
    String wanted = topic.toLowerCase(Locale.ROOT);
    return names.stream()
        .filter(
            name ->
                distance(wanted, name.toLowerCase(Locale.ROOT))
                    <= Math.max(1, Math.min(topic.length(), name.length()) / 3))
        .min(
            Comparator.comparingInt(
                (String name) -> distance(wanted, name.toLowerCase(Locale.ROOT))));
  }

  /** Levenshtein: insertions, deletions and replacements from one to the other. */
  private static int distance(String from, String to) {
    int[] row = IntStream.rangeClosed(0, to.length()).toArray();
    for (int i = 1; i <= from.length(); i++) {
      int diagonal = row[0];
      row[0] = i;
      for (int j = 1; j <= to.length(); j++) {
        int replaced = diagonal + (from.charAt(i - 1) == to.charAt(j - 1) ? 0 : 1);
        diagonal = row[j];
        row[j] = Math.min(replaced, 1 + Math.min(row[j], row[j - 1]));
      }
    }
    return row[to.length()];
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
