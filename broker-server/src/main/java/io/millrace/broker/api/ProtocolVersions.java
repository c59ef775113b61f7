package io.millrace.broker.api;

import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.frame.FrameFormat;

/** The range of protocol versions that this broker speaks, and how a handshake checks it. */
final class ProtocolVersions {

  static final int MIN = FrameFormat.VERSION;
  static final int MAX = FrameFormat.VERSION;

  private ProtocolVersions() {}

  /** The newest common version. */
  static int choose(int theirMin, int theirMax) {
    if (theirMin > theirMax || theirMin > MAX || theirMax < MIN) {
      throw new RequestRefusedException(
          ErrorCode.UNSUPPORTED_VERSION,
          "protocol versions "
              + theirMin
              + ".."
              + theirMax
              + " are offered, this broker speaks "
              + MIN
              + ".."
              + MAX);
    }
    return Math.min(theirMax, MAX);
  }
}
