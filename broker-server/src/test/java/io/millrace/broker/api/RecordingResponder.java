package io.millrace.broker.api;

import com.google.protobuf.Message;
import io.millrace.broker.log.FetchSlice;
import io.millrace.protocol.error.ErrorCode;
import io.netty.buffer.ByteBuf;
import java.util.List;

/** Remembers the one answer. */
final class RecordingResponder implements Responder {

  volatile Message header;
  volatile ByteBuf payload;
  volatile ErrorCode error;
  volatile String text;
  volatile boolean closed;

  private synchronized void once() {
    if (header != null || error != null || silent) {
      throw new IllegalStateException("answered twice");
    }
  }

  volatile boolean silent;

  @Override
  public synchronized void none() {
    once();
    silent = true;
  }

  @Override
  public synchronized void respond(Message answer) {
    once();
    header = answer;
  }

  @Override
  public synchronized void respond(Message answer, ByteBuf bytes) {
    once();
    header = answer;
    payload = bytes;
  }

  @Override
  public synchronized void respond(Message answer, List<FetchSlice> slices, Runnable release) {
    once();
    header = answer;
    release.run();
  }

  @Override
  public synchronized void fail(ErrorCode code, String why) {
    once();
    error = code;
    text = why;
  }

  @Override
  public synchronized void failAndClose(ErrorCode code, String why) {
    fail(code, why);
    closed = true;
  }

  boolean isAnswered() {
    return header != null || error != null || silent;
  }
}
