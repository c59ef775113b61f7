package io.millrace.protocol.frame;

/**
 * The frame around every request and response, big endian.
 *
 * <pre>
 *  offset  bytes  field
 *       0      2  magic          0x4D52 ("MR")
 *       2      1  version        1
 *       3      1  flags          bit 0 = response, all others 0
 *       4      2  kind           {@link ApiKind#code()}
 *       6      4  correlation    chosen by the requester, repeated in the response
 *      10      4  length         bytes after this field, 1 to the receiver's limit
 *      14    1-5  headerLength   unsigned LEB128 varint
 *       .      .  header         protobuf message of the kind
 *       .      .  payload        the rest: record batches or nested messages, raw
 * </pre>
 */
public final class FrameFormat {

  public static final int MAGIC = 0x4D52;
  public static final int VERSION = 1;
  public static final int FLAG_RESPONSE = 0x01;

  public static final int MAGIC_OFFSET = 0;
  public static final int VERSION_OFFSET = 2;
  public static final int FLAGS_OFFSET = 3;
  public static final int KIND_OFFSET = 4;
  public static final int CORRELATION_OFFSET = 6;
  public static final int LENGTH_OFFSET = 10;

  /** Bytes up to and including the length field; the length does not count them. */
  public static final int PREFIX_BYTES = 14;

  static final int MAX_VARINT_BYTES = 5;

  private FrameFormat() {}
}
