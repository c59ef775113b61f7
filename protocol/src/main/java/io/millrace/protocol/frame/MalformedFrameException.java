package io.millrace.protocol.frame;

import io.millrace.protocol.error.ErrorCode;
import io.netty.handler.codec.DecoderException;

/**
 * Bytes that are no frame, or a frame whose header is no message of its kind.
 *
 * <p>Errors: {@link #boundaryLost()} says whether the connection can go on. Thrown by {@link
 * FrameDecoder} it is true: the owner of the channel answers if {@link #requestKnown()} and closes.
 * Thrown by {@link Frame#header} it is false: the frame was whole, an error answer is enough.
 */
public final class MalformedFrameException extends DecoderException {

  private static final long serialVersionUID = 1L;

  private final ErrorCode code;
  private final boolean boundaryLost;
  private final boolean requestKnown;
  private final int kindCode;
  private final int correlation;

  private MalformedFrameException(
      ErrorCode code,
      String text,
      Throwable cause,
      boolean boundaryLost,
      boolean requestKnown,
      int kindCode,
      int correlation) {
    super(text, cause);
    this.code = code;
    this.boundaryLost = boundaryLost;
    this.requestKnown = requestKnown;
    this.kindCode = kindCode;
    this.correlation = correlation;
  }

  static MalformedFrameException garbage(ErrorCode code, String text) {
    return new MalformedFrameException(code, text, null, true, false, 0, 0);
  }

  static MalformedFrameException refused(
      ErrorCode code, String text, int kindCode, int correlation) {
    return new MalformedFrameException(code, text, null, true, true, kindCode, correlation);
  }

  static MalformedFrameException header(String text, Throwable cause, Frame frame) {
    return new MalformedFrameException(
        ErrorCode.MALFORMED_REQUEST,
        text,
        cause,
        false,
        true,
        frame.kindCode(),
        frame.correlation());
  }

  public ErrorCode code() {
    return code;
  }

  /** True when the next frame cannot be found any more: the connection must be closed. */
  public boolean boundaryLost() {
    return boundaryLost;
  }

  /** Whether {@link #kindCode()} and {@link #correlation()} were read. */
  public boolean requestKnown() {
    return requestKnown;
  }

  public int kindCode() {
    return kindCode;
  }

  public int correlation() {
    return correlation;
  }
}
