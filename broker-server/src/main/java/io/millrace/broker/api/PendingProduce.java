package io.millrace.broker.api;

import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.message.ProduceResponse;
import io.millrace.protocol.message.ProduceResult;
import io.millrace.protocol.message.ResponseContext;
import io.netty.util.Timeout;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReferenceArray;

/**
 * The results of one produce request that are there already. Answers once, when the last one comes;
 * at the deadline those that are missing become REQUEST_TIMEOUT, outcome unknown: they may still be
 * stored. Threads: any.
 */
final class PendingProduce {

  /** What a producer that was refused for lack of room should wait. */
  static final int THROTTLE_MILLIS = 50;

  private final AtomicReferenceArray<ProduceResult> results;
  private final AtomicInteger missing;
  private final long waitMillis;
  private final Responder responder;
  private volatile Timeout timeout;

  PendingProduce(int batches, long waitMillis, Responder responder) {
    this.results = new AtomicReferenceArray<>(batches);
    this.missing = new AtomicInteger(batches);
    this.waitMillis = waitMillis;
    this.responder = responder;
  }

  /** Before the first batch is handed over. */
  void start(Timeout deadline) {
    timeout = deadline;
  }

  /** The first result of a batch counts. */
  void done(int index, ProduceResult result) {
    if (results.compareAndSet(index, null, result) && missing.decrementAndGet() == 0) {
      answer();
    }
  }

  void expire() {
    ProduceResult late =
        ProduceResult.newBuilder()
            .setError(
                ErrorCode.REQUEST_TIMEOUT.toInfo(
                    "not committed within "
                        + waitMillis
                        + " ms; it may still be: retry with the same sequence"))
            .setBaseOffset(-1)
            .build();
    for (int i = 0; i < results.length(); i++) {
      done(i, late);
    }
  }

  private void answer() {
    Timeout deadline = timeout;
    if (deadline != null) {
      deadline.cancel();
    }
    ProduceResponse.Builder response = ProduceResponse.newBuilder();
    boolean throttled = false;
    for (int i = 0; i < results.length(); i++) {
      ProduceResult result = results.get(i);
      throttled |= result.getError().getCode() == ErrorCode.THROTTLED.number();
      response.addResults(result);
    }
    if (throttled) {
      response.setContext(ResponseContext.newBuilder().setThrottleMillis(THROTTLE_MILLIS));
    }
    responder.respond(response.build());
  }
}
