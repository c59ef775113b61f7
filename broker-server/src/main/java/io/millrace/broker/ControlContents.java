package io.millrace.broker;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import com.google.protobuf.Parser;
import io.millrace.broker.cluster.message.MetadataCommand;
import io.millrace.broker.raft.message.GroupConfiguration;
import io.millrace.broker.state.message.LogStartEntry;
import io.millrace.broker.state.message.ProducerExpireEntry;
import io.millrace.broker.state.message.TimeEntry;
import io.millrace.protocol.batch.ControlBatch;
import io.millrace.protocol.batch.ControlRecord;
import io.millrace.protocol.batch.ControlType;
import io.millrace.protocol.batch.InvalidBatchException;
import java.nio.ByteBuffer;

/** Which message stands in a control batch of which type: for those who show them. */
public final class ControlContents {

  private ControlContents() {}

  /**
   * The decoded value; null if its type has no message, as head, foot and no-op, or is not known to
   * this version.
   */
  public static Message messageOf(ControlRecord record) throws InvalidProtocolBufferException {
    Parser<? extends Message> parser =
        record.type() == null || record.version() != ControlBatch.KEY_VERSION
            ? null
            : parserOf(record.type());
    return parser == null ? null : parser.parseFrom(record.value());
  }

  private static Parser<? extends Message> parserOf(ControlType type) {
    return switch (type) {
      case CONF -> GroupConfiguration.parser();
      case TIME -> TimeEntry.parser();
      case LOG_START -> LogStartEntry.parser();
      case PRODUCER_EXPIRE -> ProducerExpireEntry.parser();
      case METADATA -> MetadataCommand.parser();
      case SEGMENT_HEAD, SEGMENT_FOOT, CLEAN_POINT, CLAIM, COMMIT, GROUP_DELETE, NO_OP -> null;
    };
  }

  /** The log time in a TIME batch, as the log counts it; -1 if there is none in it. */
  public static long logTimeOf(ByteBuffer batch) {
    try {
      ControlRecord record = ControlBatch.decode(batch);
      return record.type() == ControlType.TIME
          ? TimeEntry.parseFrom(record.value()).getLogTimeMillis()
          : -1;
    } catch (InvalidBatchException | InvalidProtocolBufferException e) {
      // Not a time; that the batch cannot be decoded is found where it is applied, or shown.
      return -1;
    }
  }
}
