package io.millrace.client.net;

import io.netty.channel.ConnectTimeoutException;
import java.net.ConnectException;
import java.net.UnknownHostException;

/** Failures of a connection in a few words for people. */
final class Reasons {

  private Reasons() {}

  static String of(Throwable cause) {
    if (cause instanceof ConnectTimeoutException) {
      return "no answer to the connect";
    }
    if (cause instanceof UnknownHostException) {
      return "unknown host";
    }
    if (cause instanceof ConnectException) {
      return "connection refused";
    }
    String text = cause.getMessage();
    return text == null || text.isBlank() ? cause.getClass().getSimpleName() : text;
  }
}
