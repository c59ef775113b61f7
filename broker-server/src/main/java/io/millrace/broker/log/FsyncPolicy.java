package io.millrace.broker.log;

/** When an append is on the device. */
public enum FsyncPolicy {
  /** Before it returns. */
  ALWAYS,
  /** At most one interval after it returned; the owner of the log calls {@code sync}. */
  INTERVAL,
  /** Whenever the operating system writes back, or a checkpoint asks for it. */
  OS
}
