package io.millrace.tools.bench.failover;

/** What is done to the leader. */
enum Fault {
  /** SIGKILL: a crash. */
  kill,
  /** A clean stop, and a start right after it. */
  restart,
  /** SIGSTOP, and SIGCONT after a while: a frozen machine, or a long pause of the JVM. */
  pause
}
