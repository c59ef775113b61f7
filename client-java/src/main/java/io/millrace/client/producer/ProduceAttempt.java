package io.millrace.client.producer;

import io.millrace.client.net.Answer;
import io.millrace.protocol.error.MillraceException;
import io.millrace.protocol.message.ProduceResponse;
import io.netty.buffer.ByteBuf;
import java.util.List;

/** One PRODUCE request on its way. Its end is handed to the sender thread. */
final class ProduceAttempt implements Answer<ProduceResponse> {

  final int broker;
  final List<ProducerBatch> batches;
  final long sentNanos;
  private final Sender sender;

  ProduceAttempt(int broker, List<ProducerBatch> batches, long sentNanos, Sender sender) {
    this.broker = broker;
    this.batches = batches;
    this.sentNanos = sentNanos;
    this.sender = sender;
  }

  @Override
  public void done(ProduceResponse response, ByteBuf payload) {
    sender.post(() -> sender.answers().answered(this, response));
  }

  @Override
  public void failed(MillraceException failure) {
    sender.post(() -> sender.answers().failed(this, failure));
  }
}
