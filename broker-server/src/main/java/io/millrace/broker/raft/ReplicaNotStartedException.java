package io.millrace.broker.raft;

/** A replica could not be started, with the reason that status shows. */
public final class ReplicaNotStartedException extends Exception {

  private static final long serialVersionUID = 1L;

  private final boolean retryable;

  ReplicaNotStartedException(String reason, boolean retryable, Throwable cause) {
    super(reason, cause);
    this.retryable = retryable;
  }

  /** False: starting again changes nothing; the replica must be refilled or replaced. */
  public boolean retryable() {
    return retryable;
  }
}
