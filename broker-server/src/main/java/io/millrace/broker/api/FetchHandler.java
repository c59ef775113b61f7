package io.millrace.broker.api;

import io.millrace.broker.partition.FetchAnswer;
import io.millrace.broker.partition.FetchCoordinator;
import io.millrace.broker.partition.FetchHandle;
import io.millrace.broker.partition.PartitionLookup;
import io.millrace.protocol.frame.ApiKind;
import io.millrace.protocol.message.FetchRequest;
import java.util.function.Consumer;

/**
 * Hands a fetch to the coordinator and its answer to the connection. A fetch that waits is
 * cancelled when its connection closes.
 */
public final class FetchHandler implements RequestHandler {

  private final FetchCoordinator fetches;
  private final PartitionLookup partitions;

  public FetchHandler(FetchCoordinator fetches, PartitionLookup partitions) {
    this.fetches = fetches;
    this.partitions = partitions;
  }

  @Override
  public ApiKind kind() {
    return ApiKind.FETCH;
  }

  @Override
  public void handle(RequestContext request, Responder responder) {
    FetchRequest header = request.header(FetchRequest.parser());
    Call call = new Call(responder);
    FetchHandle handle = fetches.fetch(header, partitions, call);
    call.watch(request.connection(), handle);
  }

  /** One fetch. Threads: the answer comes on any thread, also before {@link #watch}. */
  private static final class Call implements Consumer<FetchAnswer> {

    private final Responder responder;
    private volatile boolean answered;
    private volatile Runnable forget;

    private Call(Responder responder) {
      this.responder = responder;
    }

    private void watch(Connection connection, FetchHandle handle) {
      if (answered) {
        return;
      }
      forget = connection.onClose(handle::cancel);
      if (answered) {
        forget.run();
      }
    }

    @Override
    public void accept(FetchAnswer answer) {
      answered = true;
      Runnable watching = forget;
      if (watching != null) {
        watching.run();
      }
      responder.respond(answer.header(), answer.slices(), answer::release);
    }
  }
}
