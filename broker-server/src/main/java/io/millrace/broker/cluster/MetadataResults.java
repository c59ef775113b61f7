package io.millrace.broker.cluster;

import io.millrace.broker.cluster.message.MetadataResult;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.message.ErrorInfo;

/** Builds and reads {@link MetadataResult}s. */
public final class MetadataResults {

  private MetadataResults() {}

  static MetadataResult done(long index) {
    return MetadataResult.newBuilder().setIndex(index).build();
  }

  /** An error of a command that is not in the log (or about which that is unknown). */
  static MetadataResult error(ErrorCode code, String text) {
    return error(0, code, text);
  }

  static MetadataResult error(long index, ErrorCode code, String text) {
    return MetadataResult.newBuilder()
        .setIndex(index)
        .setErrorCode(code.number())
        .setErrorText(text)
        .build();
  }

  public static ErrorCode code(MetadataResult result) {
    return ErrorCode.of(result.getErrorCode());
  }

  public static boolean isDone(MetadataResult result) {
    return result.getErrorCode() == ErrorCode.NONE.number();
  }

  public static ErrorInfo errorInfo(MetadataResult result) {
    return code(result).toInfo(result.getErrorText());
  }
}
