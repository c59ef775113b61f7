package io.millrace.client.metadata;

import io.millrace.client.ClientConfig;
import io.millrace.client.TopicPartition;
import io.millrace.client.error.RequestFailedException;
import io.millrace.client.error.UnknownTopicException;
import io.millrace.client.internal.Ticks;
import io.millrace.client.net.Answer;
import io.millrace.client.net.Api;
import io.millrace.client.net.Backoff;
import io.millrace.client.net.BrokerAddress;
import io.millrace.client.net.Connections;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.error.MillraceException;
import io.millrace.protocol.error.Outcome;
import io.millrace.protocol.message.DeleteRecordsPartition;
import io.millrace.protocol.message.DeleteRecordsRequest;
import io.millrace.protocol.message.DeleteRecordsResponse;
import io.millrace.protocol.message.DeleteRecordsResult;
import io.millrace.protocol.message.ErrorInfo;
import io.netty.buffer.ByteBuf;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;

/**
 * Asks the leader of a partition to remove records, again where the leader moves or is not ready,
 * until the time is over. A request that is repeated does no harm, so an unknown outcome is asked
 * about by asking again.
 *
 * <p>Threads: any; futures complete on an event loop.
 */
public final class RecordDeletion {

  private static final Backoff BACKOFF = new Backoff(20, 500);

  /** Waits for one leader; a silent one may have been replaced. */
  private static final long ATTEMPT_MILLIS = 2_000;

  private final ClientConfig config;
  private final Connections connections;
  private final MetadataCache metadata;

  public RecordDeletion(ClientConfig config, Connections connections, MetadataCache metadata) {
    this.config = config;
    this.connections = connections;
    this.metadata = metadata;
  }

  /** Completes with the log start after it. */
  public CompletableFuture<Long> delete(TopicPartition partition, long before, long timeoutMillis) {
    metadata.want(partition.topic());
    Run run = new Run(partition, before, timeoutMillis);
    run.attempt();
    return run.result;
  }

  private final class Run {
    private final CompletableFuture<Long> result = new CompletableFuture<>();
    private final TopicPartition partition;
    private final long before;
    private final long timeoutMillis;
    private final long startNanos = Ticks.now();

    // One attempt at a time, each after the one before.
    private int attempts;
    private boolean unknown;
    private String reason = "no answer";

    Run(TopicPartition partition, long before, long timeoutMillis) {
      this.partition = partition;
      this.before = before;
      this.timeoutMillis = timeoutMillis;
    }

    private long leftMillis() {
      return timeoutMillis - TimeUnit.NANOSECONDS.toMillis(Ticks.now() - startNanos);
    }

    void attempt() {
      long left = leftMillis();
      if (left <= 0) {
        result.completeExceptionally(late());
        return;
      }
      ClusterView view = metadata.view();
      TopicView topic = view.topic(partition.topic());
      if (topic == null) {
        attemptWithoutTopic();
      } else if (partition.partition() >= topic.partitions()) {
        result.completeExceptionally(OffsetLookup.unknownPartition(partition, topic));
      } else {
        BrokerAddress leader = view.broker(topic.leader(partition.partition()));
        if (leader == null) {
          again("no leader known");
        } else {
          ask(topic, leader, Math.max(1, Math.min(left, ATTEMPT_MILLIS)));
        }
      }
    }

    private void attemptWithoutTopic() {
      long enough = TimeUnit.MILLISECONDS.toNanos(config.unknownTopicMillis());
      if (metadata.saidUnknownNanos(partition.topic()) >= startNanos + enough) {
        metadata.unwant(partition.topic());
        result.completeExceptionally(
            new UnknownTopicException(
                partition.topic(), "topic '" + partition.topic() + "' does not exist"));
      } else {
        again("topic not known yet; " + metadata.failures());
      }
    }

    private void ask(TopicView topic, BrokerAddress leader, long waitMillis) {
      DeleteRecordsRequest request =
          DeleteRecordsRequest.newBuilder()
              .setContext(metadata.context(waitMillis))
              .addPartitions(
                  DeleteRecordsPartition.newBuilder()
                      .setTopicId(topic.id())
                      .setPartition(partition.partition())
                      .setBefore(before))
              .build();
      connections.send(
          leader,
          topic.leader(partition.partition()),
          Api.DELETE_RECORDS,
          request,
          null,
          waitMillis,
          new Answer<DeleteRecordsResponse>() {
            @Override
            public void done(DeleteRecordsResponse response, ByteBuf payload) {
              answered(topic, response);
            }

            @Override
            public void failed(MillraceException failure) {
              unknown |= failure.outcome() == Outcome.UNKNOWN;
              if (failure.code() == ErrorCode.CLIENT_CLOSED || !failure.retriable()) {
                result.completeExceptionally(failure);
              } else {
                again(failure.getMessage());
              }
            }
          });
    }

    private void answered(TopicView topic, DeleteRecordsResponse response) {
      if (response.getResultsCount() == 0) {
        again("an empty answer");
        return;
      }
      DeleteRecordsResult answer = response.getResults(0);
      ErrorInfo error = answer.getError();
      ErrorCode code = ErrorCode.of(error.getCode());
      if (code == ErrorCode.NONE) {
        result.complete(answer.getLogStart());
        return;
      }
      unknown |= code.outcome() == Outcome.UNKNOWN;
      if (error.hasLeader()) {
        metadata.leaderHint(
            partition.topic(), topic.id(), partition.partition(), error.getLeader());
      }
      if (code.retriable()
          || code == ErrorCode.UNKNOWN_TOPIC
          || code == ErrorCode.UNKNOWN_PARTITION) {
        again(code + " " + error.getText());
      } else {
        result.completeExceptionally(MillraceException.of(error));
      }
    }

    private void again(String why) {
      reason = why;
      metadata.refreshSoon();
      long delay =
          Math.min(
              BACKOFF.nanos(attempts++), TimeUnit.MILLISECONDS.toNanos(Math.max(0, leftMillis())));
      try {
        connections.timer().schedule(this::attempt, delay, TimeUnit.NANOSECONDS);
      } catch (RejectedExecutionException e) {
        result.completeExceptionally(
            new MillraceException(ErrorCode.CLIENT_CLOSED, "the client is closed"));
      }
    }

    private RequestFailedException late() {
      return new RequestFailedException(
          unknown ? ErrorCode.REQUEST_TIMEOUT : ErrorCode.NOT_READY,
          "records of "
              + partition
              + " before "
              + before
              + " not deleted within "
              + timeoutMillis
              + " ms: "
              + reason,
          unknown ? Outcome.UNKNOWN : Outcome.NOT_DONE,
          null);
    }
  }
}
