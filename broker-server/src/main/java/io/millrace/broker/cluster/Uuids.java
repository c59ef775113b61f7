package io.millrace.broker.cluster;

import com.google.protobuf.ByteString;
import java.nio.ByteBuffer;
import java.util.UUID;

/** UUIDs as 16 bytes, big endian, the way they stand in every message and in the metadata log. */
public final class Uuids {

  public static final int BYTES = 16;

  private Uuids() {}

  public static ByteString toBytes(UUID id) {
    ByteBuffer bytes = ByteBuffer.allocate(BYTES);
    bytes.putLong(id.getMostSignificantBits()).putLong(id.getLeastSignificantBits()).flip();
    return ByteString.copyFrom(bytes);
  }

  /**
   * @throws IllegalArgumentException if it is not 16 bytes
   */
  public static UUID of(ByteString bytes) {
    if (!isUuid(bytes)) {
      throw new IllegalArgumentException(
          "a UUID has " + BYTES + " bytes, this one " + bytes.size());
    }
    ByteBuffer buffer = bytes.asReadOnlyByteBuffer();
    return new UUID(buffer.getLong(), buffer.getLong());
  }

  static boolean isUuid(ByteString bytes) {
    return bytes.size() == BYTES;
  }
}
