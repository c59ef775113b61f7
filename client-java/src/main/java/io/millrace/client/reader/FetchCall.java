package io.millrace.client.reader;

import io.millrace.client.net.Answer;
import io.millrace.client.net.BrokerAddress;
import io.millrace.protocol.error.MillraceException;
import io.millrace.protocol.message.FetchRequest;
import io.millrace.protocol.message.FetchResponse;
import io.netty.buffer.ByteBuf;
import java.util.List;

/**
 * One FETCH on its way to one broker.
 *
 * @param raiseOnly asks for no records, only how much of what is kept back may be handed over
 * @param records how many records it may bring
 * @param bytes how many bytes it may bring
 */
record FetchCall(
    FetchAnswers answers,
    int broker,
    BrokerAddress address,
    List<Part> parts,
    boolean raiseOnly,
    long records,
    long bytes,
    FetchRequest request,
    long sentNanos)
    implements Answer<FetchResponse> {

  /** A partition as it was when the fetch was sent. */
  record Part(Cursor cursor, int generation, long position) {}

  @Override
  public void done(FetchResponse response, ByteBuf payload) {
    answers.answered(this, response, payload);
  }

  @Override
  public void failed(MillraceException failure) {
    answers.failed(this, failure);
  }

  /** Identity: two fetches are never the same. */
  @Override
  public boolean equals(Object other) {
    return this == other;
  }

  @Override
  public int hashCode() {
    return System.identityHashCode(this);
  }
}
