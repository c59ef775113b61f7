package io.millrace.tools;

import io.millrace.client.error.UnreachableException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * Waits until a broker answers, before a command asks for anything. Where every address refuses the
 * connection nobody is there, and the wait is short; a silent one may yet come.
 *
 * <p>Threads: one.
 */
final class FirstContact {
  static final Duration REFUSED_LIMIT = Duration.ofSeconds(5);
  static final Duration QUIET_LIMIT = Duration.ofSeconds(2);

  private static final String REFUSED = "connection refused";
  private static final long STEP_MILLIS = 200;

  /** One try to reach any broker. */
  interface Attempt {
    void connect(long timeoutMillis) throws UnreachableException;
  }

  private final List<String> addresses;
  private final Duration limit;
  private final Progress progress;
  private final LongSupplier nanoClock;

  FirstContact(List<String> addresses, Duration limit, Progress progress, LongSupplier nanoClock) {
    this.addresses = addresses;
    this.limit = limit;
    this.progress = progress;
    this.nanoClock = nanoClock;
  }

  /**
   * @param hint what the user may do, appended to the failure
   * @throws CommandFailure when no broker answered in time
   */
  void await(Attempt attempt, String hint) {
    long start = nanoClock.getAsLong();
    long refusedSince = -1;
    boolean said = false;
    while (true) {
      long waited = nanoClock.getAsLong() - start;
      long left = TimeUnit.NANOSECONDS.toMillis(limit.toNanos() - waited);
      try {
        attempt.connect(Math.max(1, Math.min(left, STEP_MILLIS)));
        progress.clear();
        return;
      } catch (UnreachableException e) {
        long now = nanoClock.getAsLong();
        if (!allRefuse(e.reasons())) {
          refusedSince = -1;
        } else if (refusedSince < 0) {
          refusedSince = now - start;
        }
        boolean nobody = refusedSince >= 0 && now - start - refusedSince >= REFUSED_LIMIT.toNanos();
        if (nobody || now - start >= limit.toNanos()) {
          progress.clear();
          throw failure(e.reasons(), (now - start) / 1_000_000, hint);
        }
        if (!said && now - start >= QUIET_LIMIT.toNanos()) {
          said = true;
          progress.show("waiting for " + String.join(", ", addresses) + "...");
        }
      }
    }
  }

  private static boolean allRefuse(Map<String, String> reasons) {
    return !reasons.isEmpty()
        && reasons.values().stream().allMatch(reason -> reason.contains(REFUSED));
  }

  private CommandFailure failure(Map<String, String> reasons, long millis, String hint) {
    List<String> tried =
        reasons.entrySet().stream()
            .sorted(Map.Entry.comparingByKey())
            .map(each -> each.getKey() + " (" + each.getValue() + ")")
            .toList();
    return new CommandFailure(
        "UNREACHABLE: no broker answers after "
            + Words.millis(millis)
            + "; tried "
            + String.join(", ", tried.isEmpty() ? addresses : tried)
            + "; "
            + hint);
  }
}
