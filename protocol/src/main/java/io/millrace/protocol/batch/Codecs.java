package io.millrace.protocol.batch;

import com.github.luben.zstd.Zstd;
import com.github.luben.zstd.ZstdException;
import io.millrace.protocol.error.ErrorCode;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.zip.GZIPInputStream;
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
  private static final int FIRST_OUTPUT_BYTES = 64 << 10;
  private static final int USUAL_RATIO = 4;

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
            case GZIP ->
                drain(
                    new GZIPInputStream(
                        new ByteArrayInputStream(bytes, from, length), STREAM_BUFFER_BYTES),
                    length,
                    maxBytes);
            case LZ4 ->
                drain(
                    new LZ4FrameInputStream(new ByteArrayInputStream(bytes, from, length)),
                    length,
                    maxBytes);
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

  /** First size of an output whose true size is not known. */
  private static int firstCapacity(int compressedBytes, int maxBytes) {
    long guess = Math.max(FIRST_OUTPUT_BYTES, (long) compressedBytes * USUAL_RATIO);
    return (int) Math.min(maxBytes, guess);
  }

  /** Null when the stream holds more than {@code maxBytes}. */
  private static ByteBuffer drain(InputStream stream, int compressedBytes, int maxBytes)
      throws IOException {
    try (stream) {
      byte[] out = new byte[firstCapacity(compressedBytes, maxBytes)];
      int size = 0;
      while (true) {
        int room = out.length - size;
        if (room == 0) {
          int next = stream.read();
          if (next < 0) {
            return ByteBuffer.wrap(out, 0, size);
          }
          if (out.length == maxBytes) {
            return null;
          }
          out = Arrays.copyOf(out, (int) Math.min(maxBytes, Math.max(64L, out.length * 2L)));
          out[size++] = (byte) next;
          continue;
        }
        int read = stream.read(out, size, room);
        if (read < 0) {
          return ByteBuffer.wrap(out, 0, size);
        }
        size += read;
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
    int capacity = stated > 0 ? (int) stated : firstCapacity(length, maxBytes);
    // In one call, so that the output is the window: a frame cannot make us take a window buffer.
    while (true) {
      byte[] out = new byte[capacity];
      try {
        int size = (int) Zstd.decompressByteArray(out, 0, capacity, bytes, from, length);
        return ByteBuffer.wrap(out, 0, size);
      } catch (ZstdException e) {
        if (e.getErrorCode() != Zstd.errDstSizeTooSmall()) {
          throw new IOException(e.getMessage(), e);
        }
        if (capacity == maxBytes) {
          return null;
        }
        capacity = (int) Math.min(maxBytes, Math.max(64L, capacity * 2L));
      }
    }
  }
}
