package io.millrace.client;

/** What a receipt of a topic stands for. */
public enum FsyncPolicy {
  /** Written and fdatasynced by a majority of the replicas. */
  ALWAYS,
  /** Written by a majority; fdatasync follows within the topic's interval. */
  INTERVAL,
  /** Written by a majority; the operating system decides when it reaches the disk. */
  OS,
  /** The broker named a policy that this version of the client does not know. */
  UNKNOWN;

  public static FsyncPolicy of(io.millrace.protocol.message.FsyncPolicy wire) {
    return switch (wire) {
      case FSYNC_ALWAYS -> ALWAYS;
      case FSYNC_INTERVAL -> INTERVAL;
      case FSYNC_OS -> OS;
      case FSYNC_UNSPECIFIED, UNRECOGNIZED -> UNKNOWN;
    };
  }

  public io.millrace.protocol.message.FsyncPolicy toWire() {
    return switch (this) {
      case ALWAYS -> io.millrace.protocol.message.FsyncPolicy.FSYNC_ALWAYS;
      case INTERVAL -> io.millrace.protocol.message.FsyncPolicy.FSYNC_INTERVAL;
      case OS -> io.millrace.protocol.message.FsyncPolicy.FSYNC_OS;
      case UNKNOWN -> io.millrace.protocol.message.FsyncPolicy.FSYNC_UNSPECIFIED;
    };
  }
}
