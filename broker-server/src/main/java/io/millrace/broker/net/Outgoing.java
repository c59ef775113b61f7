package io.millrace.broker.net;

import io.millrace.broker.log.FetchSlice;
import io.netty.buffer.ByteBuf;
import java.util.List;

/**
 * One response on its way to the socket. Owns its buffer until it is written, and its slices until
 * the write has completed or failed.
 *
 * @param head the whole frame, or everything in front of the slices
 * @param slices the payload as ranges of files; may be empty
 * @param bytes of the frame
 * @param closeReasonOrNull close the connection after the write
 */
record Outgoing(ByteBuf head, List<FetchSlice> slices, long bytes, CloseReason closeReasonOrNull) {

  static Outgoing of(ByteBuf frame) {
    return new Outgoing(frame, List.of(), frame.readableBytes(), null);
  }

  static Outgoing lastOne(ByteBuf frame, CloseReason reason) {
    return new Outgoing(frame, List.of(), frame.readableBytes(), reason);
  }

  long sliceBytes() {
    long sum = 0;
    for (FetchSlice slice : slices) {
      sum += slice.bytes();
    }
    return sum;
  }

  void releaseSlices() {
    for (FetchSlice slice : slices) {
      slice.release();
    }
  }

  /** For a response that is never written. */
  void discard() {
    head.release();
    releaseSlices();
  }
}
