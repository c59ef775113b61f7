package io.millrace.protocol.frame;

import static io.millrace.protocol.frame.FrameFormat.CORRELATION_OFFSET;
import static io.millrace.protocol.frame.FrameFormat.FLAGS_OFFSET;
import static io.millrace.protocol.frame.FrameFormat.FLAG_RESPONSE;
import static io.millrace.protocol.frame.FrameFormat.KIND_OFFSET;
import static io.millrace.protocol.frame.FrameFormat.LENGTH_OFFSET;
import static io.millrace.protocol.frame.FrameFormat.MAGIC;
import static io.millrace.protocol.frame.FrameFormat.MAX_VARINT_BYTES;
import static io.millrace.protocol.frame.FrameFormat.PREFIX_BYTES;
import static io.millrace.protocol.frame.FrameFormat.VERSION;
import static io.millrace.protocol.frame.FrameFormat.VERSION_OFFSET;

import io.millrace.protocol.error.ErrorCode;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.ByteToMessageDecoder;
import java.util.List;
import java.util.function.IntSupplier;

/**
 * Cuts the received bytes into {@link Frame}s.
 *
 * <p>Owns: the bytes of the frame that is not complete yet; never more than the limit, plus one
 * read of the socket. A complete frame is a slice of the receive buffer and belongs to the next
 * handler.
 *
 * <p>Threads: the event loop of its channel.
 *
 * <p>Errors: every field is checked as soon as its bytes are there, the length before any memory is
 * taken for it. A violation is a {@link MalformedFrameException} through exceptionCaught, after all
 * frames before it were delivered; what follows on the connection is dropped unread. The owner of
 * the channel closes it.
 */
public final class FrameDecoder extends ByteToMessageDecoder {

  /**
   * A frame up to this size gets its whole buffer at once, so that it is not copied again each time
   * the buffer grows. Larger ones grow with what was really received: a peer that only claims a
   * length cannot make us take the memory.
   */
  static final int WHOLE_BUFFER_BYTES = 4 << 20;

  /** Room behind an incomplete frame for the start of the next: the usual largest socket read. */
  private static final int READ_AHEAD_BYTES = 64 << 10;

  private final IntSupplier maxFrameBytes;
  private int pendingFrameBytes;
  private boolean broken;

  /**
   * @param maxFrameBytes limit of the length field, asked anew for every frame: small before the
   *     peer has said who it is, larger after
   */
  public FrameDecoder(IntSupplier maxFrameBytes) {
    this.maxFrameBytes = maxFrameBytes;
    setCumulator(this::cumulate);
  }

  /**
   * Size of the frame whose rest is still missing, with its prefix; 0 between frames and while the
   * prefix is incomplete. The owner of the channel can reserve memory for it before reading on.
   */
  public int pendingFrameBytes() {
    return pendingFrameBytes;
  }

  private ByteBuf cumulate(ByteBufAllocator alloc, ByteBuf cumulation, ByteBuf in) {
    ByteBuf target = cumulation;
    int missing = pendingFrameBytes - cumulation.readableBytes();
    if (missing > cumulation.maxFastWritableBytes() && pendingFrameBytes <= WHOLE_BUFFER_BYTES) {
      try {
        // A stranger, whose frames are small, gets no room to read ahead either.
        int readAhead = Math.min(READ_AHEAD_BYTES, maxFrameBytes.getAsInt());
        target = alloc.buffer(pendingFrameBytes + readAhead);
      } catch (Throwable t) {
        in.release();
        throw t;
      }
      target.writeBytes(cumulation);
      cumulation.release();
    }
    return MERGE_CUMULATOR.cumulate(alloc, target, in);
  }

  @Override
  protected void decode(ChannelHandlerContext ctx, ByteBuf in, List<Object> out) {
    if (broken) {
      in.skipBytes(in.readableBytes());
      return;
    }
    try {
      Frame frame = next(in);
      if (frame != null) {
        out.add(frame);
      }
    } catch (MalformedFrameException e) {
      broken = true;
      pendingFrameBytes = 0;
      in.skipBytes(in.readableBytes());
      throw e;
    }
  }

  private Frame next(ByteBuf in) {
    int start = in.readerIndex();
    int available = in.readableBytes();
    if (pendingFrameBytes > 0 && available < pendingFrameBytes) {
      return null;
    }
    checkOpening(in, start, available);
    if (available < PREFIX_BYTES) {
      return null;
    }
    int kindCode = in.getUnsignedShort(start + KIND_OFFSET);
    int correlation = in.getInt(start + CORRELATION_OFFSET);
    int length = pendingFrameBytes - PREFIX_BYTES;
    if (pendingFrameBytes == 0) {
      length = checkedLength(in.getUnsignedInt(start + LENGTH_OFFSET), kindCode, correlation);
      if (available - PREFIX_BYTES < length) {
        pendingFrameBytes = PREFIX_BYTES + length;
        return null;
      }
    }
    pendingFrameBytes = 0;
    boolean response = (in.getByte(start + FLAGS_OFFSET) & FLAG_RESPONSE) != 0;
    return cut(in, kindCode, response, correlation, length);
  }

  /** Refuses garbage at its first wrong byte. */
  private static void checkOpening(ByteBuf in, int start, int available) {
    if (available >= 1 && in.getByte(start) != (byte) (MAGIC >>> 8)
        || available >= 2 && in.getByte(start + 1) != (byte) MAGIC) {
      throw MalformedFrameException.garbage(
          ErrorCode.MALFORMED_REQUEST,
          "bytes do not start with the frame magic 0x4D52; this port speaks the Millrace protocol"
              + " only");
    }
    if (available > VERSION_OFFSET && in.getByte(start + VERSION_OFFSET) != VERSION) {
      throw MalformedFrameException.garbage(
          ErrorCode.UNSUPPORTED_VERSION,
          "frame version "
              + in.getUnsignedByte(start + VERSION_OFFSET)
              + " is not supported; supported: "
              + VERSION);
    }
    if (available > FLAGS_OFFSET && (in.getByte(start + FLAGS_OFFSET) & ~FLAG_RESPONSE) != 0) {
      throw MalformedFrameException.garbage(
          ErrorCode.MALFORMED_REQUEST,
          "frame flags 0x"
              + Integer.toHexString(in.getUnsignedByte(start + FLAGS_OFFSET))
              + " hold bits that this version does not know; known: 0x1");
    }
  }

  private int checkedLength(long length, int kindCode, int correlation) {
    int limit = maxFrameBytes.getAsInt();
    if (length > limit) {
      throw MalformedFrameException.refused(
          ErrorCode.FRAME_TOO_LARGE,
          "frame of " + length + " bytes is over the limit of " + limit + " on this connection",
          kindCode,
          correlation);
    }
    if (length < 1) {
      throw MalformedFrameException.refused(
          ErrorCode.MALFORMED_REQUEST,
          "frame length 0; at least 1 byte (the header length) is needed",
          kindCode,
          correlation);
    }
    return (int) length;
  }

  private static Frame cut(
      ByteBuf in, int kindCode, boolean response, int correlation, int length) {
    int start = in.readerIndex() + PREFIX_BYTES;
    int end = start + length;
    int at = start;
    long headerBytes = 0;
    int shift = 0;
    byte b;
    do {
      if (at == end || at - start == MAX_VARINT_BYTES) {
        throw MalformedFrameException.refused(
            ErrorCode.MALFORMED_REQUEST,
            "header length is no varint of 1 to 5 bytes inside a frame of " + length + " bytes",
            kindCode,
            correlation);
      }
      b = in.getByte(at++);
      headerBytes |= (long) (b & 0x7F) << shift;
      shift += 7;
    } while (b < 0);
    if (headerBytes > end - at) {
      throw MalformedFrameException.refused(
          ErrorCode.MALFORMED_REQUEST,
          "header length "
              + headerBytes
              + " is over the "
              + (end - at)
              + " bytes left in the frame",
          kindCode,
          correlation);
    }
    in.skipBytes(PREFIX_BYTES);
    ByteBuf body = in.readRetainedSlice(length);
    return new Frame(kindCode, response, correlation, body, at - start, (int) headerBytes);
  }
}
