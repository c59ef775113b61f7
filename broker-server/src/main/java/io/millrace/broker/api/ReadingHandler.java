package io.millrace.broker.api;

import io.millrace.protocol.error.ErrorCode;
import java.io.IOException;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;

/** Answers on an executor, because it reads files. */
abstract class ReadingHandler implements RequestHandler {

  private final Executor executor;
  private final DistinctErrors errors;

  ReadingHandler(Executor executor, DistinctErrors errors) {
    this.executor = executor;
    this.errors = errors;
  }

  interface Reading {
    void answer() throws IOException;
  }

  /** Exactly one answer, from the reading or with its failure. */
  final void read(Responder responder, Reading reading) {
    try {
      executor.execute(() -> run(responder, reading));
    } catch (RejectedExecutionException stopped) {
      responder.fail(ErrorCode.SHUTTING_DOWN, "this broker stops");
    }
  }

  private void run(Responder responder, Reading reading) {
    try {
      reading.answer();
    } catch (IOException | RuntimeException e) {
      errors.record(kind().name(), e);
      responder.fail(ErrorCode.SERVER_ERROR, kind() + " failed: " + e.getMessage());
    }
  }

  static void notOpen(Responder responder, String group) {
    responder.fail(ErrorCode.NOT_READY, "the log of " + group + " is not open here now");
  }
}
