package io.millrace.client.error;

import io.millrace.client.TopicPartition;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.error.MillraceException;

/** What stops the reading of one partition until the application decides. */
public abstract class PartitionException extends MillraceException {

  private static final long serialVersionUID = 1L;

  private final transient TopicPartition partition;

  PartitionException(ErrorCode code, TopicPartition partition, String text, Throwable cause) {
    super(code, text, cause);
    this.partition = partition;
  }

  /** Null after deserialization. */
  public TopicPartition partition() {
    return partition;
  }
}
