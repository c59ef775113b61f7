package io.millrace.broker.api;

import com.google.protobuf.Message;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.error.MillraceException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Function;

/** Answers a request with what a future gives. */
final class FutureAnswers {

  private FutureAnswers() {}

  /** Exactly one answer, on the thread that completes the future. */
  static <T> void answer(
      CompletableFuture<T> future,
      Function<T, Message> toMessage,
      Responder responder,
      DistinctErrors errors,
      String what) {
    future.whenComplete(
        (value, failure) -> {
          if (failure != null) {
            fail(failure, responder, errors, what);
            return;
          }
          Message message;
          try {
            message = toMessage.apply(value);
          } catch (RuntimeException fault) {
            fail(fault, responder, errors, what);
            return;
          }
          responder.respond(message);
        });
  }

  /** The message begins with the name of the code, which the receiver puts there itself. */
  private static String textOf(MillraceException known) {
    String name = known.code() + ": ";
    String message = known.getMessage();
    return message.startsWith(name) ? message.substring(name.length()) : message;
  }

  private static void fail(
      Throwable failure, Responder responder, DistinctErrors errors, String what) {
    Throwable cause =
        failure instanceof CompletionException && failure.getCause() != null
            ? failure.getCause()
            : failure;
    if (cause instanceof MillraceException known) {
      responder.fail(known.code(), textOf(known));
    } else {
      errors.record(what, cause);
      responder.fail(ErrorCode.SERVER_ERROR, what + " failed: " + cause);
    }
  }
}
