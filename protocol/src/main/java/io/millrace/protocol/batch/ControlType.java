package io.millrace.protocol.batch;

/**
 * Types of control batches. Codes are written to disk and never reused; 1020 to 1039 are reserved
 * for leases, 1040 to 1059 for transactions. A replica that meets a type it does not know stops:
 * skipping it would let replicas diverge.
 */
public enum ControlType {
  /** Configuration of the Raft group. */
  CONF(1000),
  /** Identity of a segment file; in files only, not a Raft entry. */
  SEGMENT_HEAD(1001),
  /** Summary of a finished segment file; in files only, not a Raft entry. */
  SEGMENT_FOOT(1002),
  /** Log time in milliseconds, never decreasing. */
  TIME(1003),
  LOG_START(1004),
  CLEAN_POINT(1005),
  CLAIM(1006),
  COMMIT(1007),
  GROUP_DELETE(1008),
  PRODUCER_EXPIRE(1009),
  /** A command of the metadata group. */
  METADATA(1010),
  NO_OP(1011);

  private static final int FIRST_CODE = 1000;
  private static final ControlType[] BY_CODE = values();

  private final short code;

  ControlType(int code) {
    this.code = (short) code;
  }

  public short code() {
    return code;
  }

  /** Null when this version does not know the code. */
  public static ControlType of(int code) {
    int index = code - FIRST_CODE;
    return index >= 0 && index < BY_CODE.length ? BY_CODE[index] : null;
  }
}
