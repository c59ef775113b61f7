package io.millrace.client.producer;

import io.millrace.client.internal.Ticks;
import io.millrace.client.metadata.MetadataCache;
import io.millrace.client.net.Api;
import io.millrace.client.net.Backoff;
import io.millrace.protocol.message.InitProducerIdRequest;
import io.millrace.protocol.message.InitProducerIdResponse;

/**
 * The producer's id, asked for when the first batch is there and again after it was fenced. An id
 * that gets lost on the way is never used: asking again is harmless.
 *
 * <p>Threads: the sender's.
 */
final class ProducerIdSource {

  private final Sender sender;
  private final MetadataCache metadata;
  private final Backoff backoff;
  private final long requestTimeoutMillis;
  private long id = LaneState.NO_PRODUCER_ID;
  private boolean asking;
  private int failures;
  private long notBeforeNanos;
  private String failure = "";

  ProducerIdSource(
      Sender sender, MetadataCache metadata, Backoff backoff, long requestTimeoutMillis) {
    this.sender = sender;
    this.metadata = metadata;
    this.backoff = backoff;
    this.requestTimeoutMillis = requestTimeoutMillis;
  }

  /** NO_PRODUCER_ID while there is none. */
  long get() {
    return id;
  }

  /** Why there is none; empty when it is not known. */
  String failure() {
    return failure;
  }

  void forget(long fenced) {
    if (id == fenced) {
      id = LaneState.NO_PRODUCER_ID;
    }
  }

  /** Asks if there is none; returns when to come again. */
  long ask(long now) {
    if (id != LaneState.NO_PRODUCER_ID || asking) {
      return Ticks.NEVER;
    }
    if (now < notBeforeNanos) {
      return notBeforeNanos;
    }
    asking = true;
    metadata
        .anyBroker()
        .call(
            Api.INIT_PRODUCER_ID,
            wait ->
                InitProducerIdRequest.newBuilder()
                    .setContext(metadata.context(wait))
                    .setProducerId(LaneState.NO_PRODUCER_ID)
                    .build(),
            requestTimeoutMillis,
            true)
        .whenComplete((response, error) -> sender.post(() -> answered(response, error)));
    return Ticks.NEVER;
  }

  private void answered(InitProducerIdResponse response, Throwable error) {
    asking = false;
    if (error == null) {
      id = response.getProducerId();
      failures = 0;
      failure = "";
    } else {
      notBeforeNanos = Ticks.now() + backoff.nanos(failures++);
      failure = "no producer id: " + error.getMessage();
    }
  }
}
