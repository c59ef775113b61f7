package io.millrace.protocol.batch;

import com.github.luben.zstd.Zstd;
import com.github.luben.zstd.ZstdException;
import io.millrace.protocol.error.ErrorCode;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.util.zip.GZIPOutputStream;
import net.jpountz.lz4.LZ4FrameInputStream;
import net.jpountz.lz4.LZ4FrameOutputStream;

/**
 * The codecs as Kafka's v2 batches use them: gzip (RFC 1952), snappy in the framing of snappy-java,
 * the LZ4 frame format with independent blocks, zstd (RFC 8878).
 *
 * <p>Threads: any. Memory: compression is bounded by the size of its input; decompression by the
 * limit of the caller plus one block of the codec (4 MiB at most), whatever the input claims.
 */
final class Codecs {

  private static final int STREAM_BUFFER_BYTES = 8 << 10;

  private Codecs() {}

  /**
   * Compresses into {@code target} from {@code offset} and returns the number of bytes, or -1 when
   * the result would not be smaller than the source. The target has at least the room of the source
   * behind the offset.
   */
  static int compress(
      Compression codec, byte[] source, int from, int length, byte[] target, int offset) {
    BoundedOutput out = new BoundedOutput(target, offset, offset + length - 1);
    try {
      switch (codec) {
        case GZIP -> {
          try (OutputStream gzip = new GZIPOutputStream(out, STREAM_BUFFER_BYTES)) {
            gzip.write(source, from, length);
          }
        }
        case LZ4 -> {
          try (OutputStream lz4 =
              new LZ4FrameOutputStream(out, LZ4FrameOutputStream.BLOCKSIZE.SIZE_64KB)) {
            lz4.write(source, from, length);
          }
        }
        case SNAPPY -> SnappyFraming.compress(source, from, length, out);
        case ZSTD -> {
          return zstd(source, from, length, target, offset);
        }
        case NONE -> throw new IllegalArgumentException("nothing to do for codec none");
      }
    } catch (IOException e) {
      throw new IllegalStateException("compression with " + codec + " failed", e);
    }
    return out.overflowed() ? -1 : out.position() - offset;
  }

  private static int zstd(byte[] source, int from, int length, byte[] target, int offset) {
    try {
      return (int)
          Zstd.compressByteArray(
              target, offset, length - 1, source, from, length, Zstd.defaultCompressionLevel());
    } catch (ZstdException e) {
      if (e.getErrorCode() == Zstd.errDstSizeTooSmall()) {
        return -1;
      }
      throw e;
    }
  }

  /**
   * Decompresses from position to limit of {@code source}.
   *
   * @param nextOffset of the batch, for the exception
   * @throws InvalidBatchException UNREADABLE_BATCH
   */
  static ByteBuffer decompress(Compression codec, ByteBuffer source, int maxBytes, long nextOffset)
      throws InvalidBatchException {
    byte[] bytes;
    int from;
    int length = source.remaining();
    if (source.hasArray()) {
      bytes = source.array();
      from = source.arrayOffset() + source.position();
    } else {
      bytes = new byte[length];
      from = 0;
      source.duplicate().get(bytes);
    }
    try {
      ByteBuffer result =
          switch (codec) {
            case GZIP -> GzipFormat.decompress(bytes, from, length, maxBytes);
            case LZ4 -> unlz4(bytes, from, length, maxBytes);
            case SNAPPY -> SnappyFraming.decompress(bytes, from, length, maxBytes);
            case ZSTD -> unzstd(bytes, from, length, maxBytes);
            case NONE -> throw new IllegalArgumentException("nothing to do for codec none");
          };
      if (result == null) {
        throw new InvalidBatchException(
            ErrorCode.UNREADABLE_BATCH,
            "records of "
                + length
                + " bytes ("
                + codec
                + ") are over the limit of "
                + maxBytes
                + " bytes after decompression",
            nextOffset,
            null);
      }
      return result;
    } catch (IOException | RuntimeException e) {
      throw new InvalidBatchException(
          ErrorCode.UNREADABLE_BATCH,
          "records of " + length + " bytes do not decompress with " + codec + ": " + e.getMessage(),
          nextOffset,
          e);
    }
  }

  /** Null when the result is over {@code maxBytes}. */
  private static ByteBuffer unlz4(byte[] bytes, int from, int length, int maxBytes)
      throws IOException {
    // One frame, as Kafka reads it: each further one could claim two new block buffers.
    try (InputStream lz4 =
        new LZ4FrameInputStream(new ByteArrayInputStream(bytes, from, length), true)) {
      BoundedBytes out = BoundedBytes.forOutputOf(length, maxBytes);
      while (true) {
        if (out.room() == 0) {
          int next = lz4.read();
          if (next < 0) {
            return out.toBuffer();
          }
          if (!out.ensureRoom(1)) {
            return null;
          }
          out.array()[out.size()] = (byte) next;
          out.advance(1);
        }
        int read = lz4.read(out.array(), out.size(), out.room());
        if (read < 0) {
          return out.toBuffer();
        }
        out.advance(read);
      }
    }
  }

  /** Null when the result is over {@code maxBytes}. */
  private static ByteBuffer unzstd(byte[] bytes, int from, int length, int maxBytes)
      throws IOException {
    long stated = Zstd.getFrameContentSize(bytes, from, length);
    if (stated > maxBytes) {
      return null;
    }
    BoundedBytes out =
        stated > 0
            ? new BoundedBytes((int) stated, maxBytes)
            : BoundedBytes.forOutputOf(length, maxBytes);
    // In one call, so that the output is the window: a frame cannot make us take a window buffer.
    while (true) {
      try {
        int size = (int) Zstd.decompressByteArray(out.array(), 0, out.room(), bytes, from, length);
        out.advance(size);
        return out.toBuffer();
      } catch (ZstdException e) {
        if (e.getErrorCode() != Zstd.errDstSizeTooSmall()) {
          throw new IOException(e.getMessage(), e);
        }
        if (!out.ensureRoom(out.room() + 1)) {
          return null;
        }
      }
    }
  }
}
