package io.millrace.broker.net;

import io.millrace.broker.log.FetchSlice;
import io.netty.buffer.ByteBuf;
import java.util.List;

/**
 * One response on its way to the socket. Owns its buffer until it is written, and its slices until
 * the write has completed or failed; then the release action runs.
 *
 * @param head the whole frame, or everything in front of the slices
 * @param slices the payload as ranges of files; may be empty
 * @param release gives the slices back
 * @param bytes of the frame
 * @param closeReasonOrNull close the connection after the write
 */
record Outgoing(
    ByteBuf head,
    List<FetchSlice> slices,
    Runnable release,
    long bytes,
    CloseReason closeReasonOrNull) {

  private static final Runnable NOTHING = () -> {};

  static Outgoing of(ByteBuf frame) {
    return new Outgoing(frame, List.of(), NOTHING, frame.readableBytes(), null);
  }

  static Outgoing of(ByteBuf head, List<FetchSlice> slices, Runnable release) {
    return new Outgoing(head, slices, release, head.readableBytes() + bytesOf(slices), null);
  }

  static Outgoing lastOne(ByteBuf frame, CloseReason reason) {
    return new Outgoing(frame, List.of(), NOTHING, frame.readableBytes(), reason);
  }

  static long bytesOf(List<FetchSlice> slices) {
    long sum = 0;
    for (FetchSlice slice : slices) {
      sum += slice.bytes();
    }
    return sum;
  }

  /** For a response that is never written. */
  void discard() {
    head.release();
    release.run();
  }
}
