package io.millrace.broker.partition;

import com.google.protobuf.ByteString;
import java.nio.ByteBuffer;
import java.util.Objects;
import java.util.UUID;

/**
 * Which partition: the id decides, the name is for people.
 *
 * @param topicIdBytes the topic id as it travels in messages
 */
public record PartitionId(UUID topicId, int partition, String topicName, ByteString topicIdBytes) {

  private static final int UUID_BYTES = 16;

  public PartitionId {
    Objects.requireNonNull(topicName, "topicName");
    if (!topicId.equals(fromBytes(topicIdBytes))) {
      throw new IllegalArgumentException(topicIdBytes + " are not the bytes of " + topicId);
    }
    if (partition < 0) {
      throw new IllegalArgumentException("partition is " + partition + "; it must be 0 or more");
    }
  }

  public PartitionId(UUID topicId, int partition, String topicName) {
    this(topicId, partition, topicName, toBytes(topicId));
  }

  /** A topic id as it travels in messages: 16 bytes, most significant first. */
  public static ByteString toBytes(UUID topicId) {
    ByteBuffer bytes = ByteBuffer.allocate(UUID_BYTES);
    bytes.putLong(topicId.getMostSignificantBits()).putLong(topicId.getLeastSignificantBits());
    return ByteString.copyFrom(bytes.flip());
  }

  /** Null when {@code bytes} is no topic id. */
  public static UUID fromBytes(ByteString bytes) {
    if (bytes.size() != UUID_BYTES) {
      return null;
    }
    ByteBuffer buffer = bytes.asReadOnlyByteBuffer();
    return new UUID(buffer.getLong(), buffer.getLong());
  }

  @Override
  public String toString() {
    return topicName + "-" + partition;
  }
}
