package io.millrace.client.net;

import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.error.MillraceException;
import io.millrace.protocol.message.LeaderHint;
import io.millrace.protocol.message.ResponseContext;

/** A broker answered a whole request with an error. */
public final class BrokerErrorException extends MillraceException {

  private static final long serialVersionUID = 1L;

  private final int throttleMillis;
  private final transient LeaderHint leader;

  BrokerErrorException(ResponseContext context, BrokerAddress from) {
    super(
        ErrorCode.of(context.getError().getCode()), describe(context) + " (said by " + from + ")");
    this.throttleMillis = context.getThrottleMillis();
    this.leader = context.getError().hasLeader() ? context.getError().getLeader() : null;
  }

  private static String describe(ResponseContext context) {
    ErrorCode code = ErrorCode.of(context.getError().getCode());
    String text = context.getError().getText();
    return text.isBlank() ? code.advice() : text;
  }

  public int throttleMillis() {
    return throttleMillis;
  }

  public LeaderHint leaderOrNull() {
    return leader;
  }
}
