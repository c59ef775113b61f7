package io.millrace.client.error;

import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.error.Outcome;

/**
 * The topic or partition does not exist: never created, or deleted meanwhile. The outcome is
 * UNKNOWN only for records that may have been stored before the topic was deleted.
 */
public final class UnknownTopicException extends RequestFailedException {

  private static final long serialVersionUID = 1L;

  private final String topic;

  public UnknownTopicException(String topic, String text) {
    this(ErrorCode.UNKNOWN_TOPIC, topic, text, Outcome.NOT_DONE);
  }

  public UnknownTopicException(ErrorCode code, String topic, String text, Outcome outcome) {
    super(code, text, outcome, null);
    this.topic = topic;
  }

  public String topic() {
    return topic;
  }
}
