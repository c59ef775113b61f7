package io.millrace.protocol.error;

import io.millrace.protocol.message.ErrorInfo;
import java.util.Objects;

/** An error with its {@link ErrorCode}; the message begins with the code's name. */
public class MillraceException extends RuntimeException {

  private static final long serialVersionUID = 1L;

  private final ErrorCode code;

  public MillraceException(ErrorCode code, String text) {
    this(code, text, null);
  }

  public MillraceException(ErrorCode code, String text, Throwable cause) {
    super(message(code, text), cause);
    this.code = code;
  }

  public static MillraceException of(ErrorInfo info) {
    return new MillraceException(ErrorCode.of(info.getCode()), info.getText());
  }

  public ErrorCode code() {
    return code;
  }

  public Outcome outcome() {
    return code.outcome();
  }

  public boolean retriable() {
    return code.retriable();
  }

  private static String message(ErrorCode code, String text) {
    Objects.requireNonNull(code, "code");
    return code + ": " + (text == null || text.isBlank() ? code.advice() : text);
  }
}
