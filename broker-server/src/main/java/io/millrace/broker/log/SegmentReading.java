package io.millrace.broker.log;

import java.nio.ByteBuffer;
import java.util.function.ToLongFunction;

/**
 * How a segment is read.
 *
 * @param logTimeOf the log time in a TIME batch, as {@link LogListener#logTimeOf}
 * @param fromIndex begin with the batch of this entry, if the index leads there; 0 = at the head
 * @param fromOffset begin at or before the batch of this record; 0 = at the head
 */
public record SegmentReading(
    Pacer pacer, ToLongFunction<ByteBuffer> logTimeOf, long fromIndex, long fromOffset) {

  public static SegmentReading whole(Pacer pacer, ToLongFunction<ByteBuffer> logTimeOf) {
    return new SegmentReading(pacer, logTimeOf, 0, 0);
  }
}
