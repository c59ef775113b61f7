package io.millrace.broker.state;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import io.millrace.broker.state.message.PartitionImage;

/**
 * What a partition's replicas agree on: offsets, log start, log time, producers.
 *
 * <p>Owns: these values; equal on all replicas at equal log indexes.
 *
 * <p>Threads: changed and read on the FSM thread; the producer table has its own rule.
 *
 * <p>Durability: {@link #toImage} in the replica's checkpoint, the rest by replay.
 *
 * @param <H> handle of a batch in flight, see {@link ProducerTable}
 */
public final class PartitionState<H> {

  private static final int IMAGE_VERSION = 1;

  private final ProducerTable<H> producers;
  private long nextOffset;
  private long logStart;
  private long logTime;

  public PartitionState(ProducerTable<H> producers) {
    this.producers = producers;
  }

  public ProducerTable<H> producers() {
    return producers;
  }

  /** Gives offsets to records; returns the first one. */
  public long append(int records) {
    if (records < 1) {
      throw new IllegalStateException(
          "record batch with " + records + " offsets at offset " + nextOffset);
    }
    long baseOffset = nextOffset;
    nextOffset = Math.addExact(nextOffset, records);
    return baseOffset;
  }

  public void advanceLogTime(long millis) {
    logTime = Math.max(logTime, millis);
  }

  public void advanceLogStart(long offset) {
    if (offset > nextOffset) {
      throw new IllegalStateException(
          "log start would move to " + offset + ", beyond the end " + nextOffset);
    }
    logStart = Math.max(logStart, offset);
  }

  /** Behind the last applied record: the committed end. */
  public long nextOffset() {
    return nextOffset;
  }

  public long logStart() {
    return logStart;
  }

  /** Milliseconds since the epoch; 0 before the first TIME entry. */
  public long logTime() {
    return logTime;
  }

  /** Equal states give equal bytes. */
  public ByteString toImage() {
    return PartitionImage.newBuilder()
        .setVersion(IMAGE_VERSION)
        .setNextOffset(nextOffset)
        .setLogStart(logStart)
        .setLogTimeMillis(logTime)
        .addAllProducers(producers.toImage())
        .build()
        .toByteString();
  }

  public void restore(ByteString bytes) {
    PartitionImage image;
    try {
      image = PartitionImage.parseFrom(bytes);
    } catch (InvalidProtocolBufferException e) {
      throw new IllegalStateException("unreadable checkpoint of a partition", e);
    }
    if (image.getVersion() != IMAGE_VERSION) {
      throw new IllegalStateException(
          "checkpoint of a partition has version "
              + image.getVersion()
              + "; this broker reads version "
              + IMAGE_VERSION);
    }
    nextOffset = image.getNextOffset();
    logStart = image.getLogStart();
    logTime = image.getLogTimeMillis();
    producers.restore(image.getProducersList());
  }
}
