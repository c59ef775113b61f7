package io.millrace.broker.cluster;

import io.millrace.broker.cluster.message.MetadataCommand;
import io.millrace.broker.cluster.message.MetadataResult;
import io.millrace.broker.raft.ProposalFailure;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.error.MillraceException;
import io.millrace.protocol.error.Outcome;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

/**
 * Brings a command into the metadata log, here or through the leader on another broker.
 *
 * <p>While it is certain that nothing was proposed it tries again until the deadline; once a
 * command may be in the log it is never sent a second time, and without an answer the outcome is
 * unknown.
 *
 * <p>Threads: any; nothing blocks. The future completes exactly once and never exceptionally: every
 * failure is a result with an error code of the right outcome class.
 */
final class CommandSubmitter {

  /** Pause between attempts while there is no leader to take the command. */
  static final long RETRY_MILLIS = 50;

  private final MetadataGroup group;
  private final int self;
  private final CommandPreparer preparer;
  private final MetadataForwarder forwarder;
  private final Scheduler scheduler;

  CommandSubmitter(
      MetadataGroup group,
      int localBrokerId,
      CommandPreparer preparer,
      MetadataForwarder forwarder,
      Scheduler scheduler) {
    this.group = group;
    self = localBrokerId;
    this.preparer = preparer;
    this.forwarder = forwarder;
    this.scheduler = scheduler;
  }

  CompletableFuture<MetadataResult> submit(MetadataCommand command, long timeoutMillis) {
    Submission submission = new Submission(command, timeoutMillis, true);
    submission.begin();
    return submission.future;
  }

  /** A command that another broker forwarded: it is not passed on a second time. */
  CompletableFuture<MetadataResult> submitForwarded(MetadataCommand command, long timeoutMillis) {
    Submission submission = new Submission(command, timeoutMillis, false);
    submission.begin();
    return submission.future;
  }

  private enum Phase {
    WAITING,
    /** Proposed or forwarded: it may be in the log. */
    IN_FLIGHT,
    ENDED
  }

  private final class Submission {
    final CompletableFuture<MetadataResult> future = new CompletableFuture<>();
    private final MetadataCommand command;
    private final long timeoutMillis;
    private final long deadline;
    private final boolean mayForward;
    private Phase phase = Phase.WAITING;
    private String lastReason = "no leader of the metadata group is known";
    private Scheduler.Scheduled timer;

    Submission(MetadataCommand command, long timeoutMillis, boolean mayForward) {
      this.command = command;
      this.timeoutMillis = timeoutMillis;
      this.mayForward = mayForward;
      deadline = scheduler.nowMillis() + timeoutMillis;
    }

    void begin() {
      timer = scheduler.schedule(timeoutMillis, this::expire);
      attempt();
    }

    private void attempt() {
      if (group.isReady()) {
        proposeHere();
        return;
      }
      int leader = group.leader();
      if (!mayForward) {
        end(notLeader(leader));
      } else if (leader == 0 || leader == self) {
        retryLater(noLeaderReason(leader));
      } else if (enterFlight()) {
        forward(leader);
      }
    }

    private String noLeaderReason(int leader) {
      if (group.failure() != null) {
        return "the metadata replica of broker " + self + " stopped: " + group.failure();
      }
      return leader == 0
          ? "no leader of the metadata group is known"
          : "this broker is about to lead the metadata group";
    }

    private MetadataResult notLeader(int leader) {
      return MetadataResults.error(
          ErrorCode.NOT_LEADER,
          "broker "
              + self
              + " does not lead the metadata group"
              + (leader == 0 || leader == self ? "" : ", broker " + leader + " does"));
    }

    private void proposeHere() {
      CommandPreparer.Prepared prepared = preparer.prepare(command);
      if (prepared.refusal() != null) {
        end(prepared.refusal());
        return;
      }
      if (!enterFlight()) {
        preparer.ended(prepared.command());
        return;
      }
      group
          .propose(prepared.command())
          .whenComplete(
              (outcome, failure) -> {
                preparer.ended(prepared.command());
                if (outcome instanceof ProposalOutcome.Applied applied) {
                  answered(applied.result());
                } else if (outcome instanceof ProposalOutcome.Failed failed) {
                  failed(failed.failure());
                } else {
                  failed(new ProposalFailure(false, String.valueOf(failure)));
                }
              });
    }

    private void forward(int leader) {
      long remaining = Math.max(1, deadline - scheduler.nowMillis());
      forwarder
          .forward(leader, command, remaining)
          .whenComplete(
              (result, failure) -> {
                if (failure == null) {
                  answered(result);
                } else {
                  failed(toProposalFailure(leader, failure));
                }
              });
    }

    private ProposalFailure toProposalFailure(int leader, Throwable failure) {
      Throwable cause =
          failure instanceof CompletionException && failure.getCause() != null
              ? failure.getCause()
              : failure;
      boolean certain = cause instanceof MillraceException e && e.outcome() == Outcome.NOT_DONE;
      return new ProposalFailure(certain, "broker " + leader + ": " + cause.getMessage());
    }

    private void answered(MetadataResult result) {
      ErrorCode code = MetadataResults.code(result);
      if (mayForward && code.retriable() && code.outcome() == Outcome.NOT_DONE) {
        leaveFlight(result.getErrorText());
      } else {
        end(result);
      }
    }

    private void failed(ProposalFailure failure) {
      if (!failure.certainlyNotAppended()) {
        end(
            MetadataResults.error(
                ErrorCode.OUTCOME_UNKNOWN,
                "the metadata command may or may not be done: " + failure.reason()));
      } else if (mayForward) {
        leaveFlight(failure.reason());
      } else {
        end(notLeader(group.leader()));
      }
    }

    private synchronized boolean enterFlight() {
      if (phase != Phase.WAITING) {
        return false;
      }
      phase = Phase.IN_FLIGHT;
      return true;
    }

    private void leaveFlight(String reason) {
      synchronized (this) {
        if (phase != Phase.IN_FLIGHT) {
          return;
        }
        phase = Phase.WAITING;
      }
      retryLater(reason);
    }

    private void retryLater(String reason) {
      synchronized (this) {
        if (phase != Phase.WAITING) {
          return;
        }
        lastReason = reason;
      }
      scheduler.schedule(RETRY_MILLIS, this::attemptUnlessEnded);
    }

    private void attemptUnlessEnded() {
      synchronized (this) {
        if (phase != Phase.WAITING) {
          return;
        }
      }
      attempt();
    }

    private void expire() {
      Phase at;
      String reason;
      synchronized (this) {
        at = phase;
        reason = lastReason;
        phase = Phase.ENDED;
      }
      switch (at) {
        case WAITING ->
            future.complete(
                MetadataResults.error(
                    ErrorCode.NO_METADATA_LEADER,
                    "no leader of the metadata group took the command within "
                        + timeoutMillis
                        + " ms and it is certainly not done: "
                        + reason));
        case IN_FLIGHT ->
            future.complete(
                MetadataResults.error(
                    ErrorCode.REQUEST_TIMEOUT,
                    "the metadata command was proposed but not committed within "
                        + timeoutMillis
                        + " ms; it may still happen: check that most metadata voters are up"));
        case ENDED -> {}
      }
    }

    private void end(MetadataResult result) {
      Scheduler.Scheduled deadlineTimer;
      synchronized (this) {
        if (phase == Phase.ENDED) {
          return;
        }
        phase = Phase.ENDED;
        deadlineTimer = timer;
      }
      deadlineTimer.cancel();
      future.complete(result);
    }
  }
}
