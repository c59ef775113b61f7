package io.millrace.broker.api;

import io.millrace.broker.cluster.ProducerIds;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.frame.ApiKind;
import io.millrace.protocol.message.InitProducerIdRequest;
import io.millrace.protocol.message.InitProducerIdResponse;

/** Gives a producer an id that nobody had before, with epoch 0. */
public final class InitProducerIdHandler implements RequestHandler {

  private static final long NEW_ID = -1;

  private final ProducerIds ids;
  private final DistinctErrors errors;

  public InitProducerIdHandler(ProducerIds ids, DistinctErrors errors) {
    this.ids = ids;
    this.errors = errors;
  }

  @Override
  public ApiKind kind() {
    return ApiKind.INIT_PRODUCER_ID;
  }

  @Override
  public void handle(RequestContext request, Responder responder) {
    InitProducerIdRequest header = request.header(InitProducerIdRequest.parser());
    if (header.getProducerId() != NEW_ID) {
      throw new RequestRefusedException(
          ErrorCode.REFUSED,
          "producer id "
              + header.getProducerId()
              + " cannot be renewed by this version; ask with id -1 for a new one");
    }
    FutureAnswers.answer(
        ids.next(),
        id -> InitProducerIdResponse.newBuilder().setProducerId(id).setEpoch(0).build(),
        responder,
        errors,
        "allocation of a producer id");
  }
}
