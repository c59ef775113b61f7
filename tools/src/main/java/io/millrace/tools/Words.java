package io.millrace.tools;

import io.millrace.client.FsyncPolicy;
import io.millrace.protocol.error.Outcome;
import java.util.Collection;
import java.util.List;
import java.util.Locale;

/** Values as people read them. */
public final class Words {
  private static final long KIB = 1024;

  private Words() {}

  public static String of(Outcome outcome) {
    return switch (outcome) {
      case DONE -> "done";
      case NOT_DONE -> "not done";
      case UNKNOWN -> "outcome unknown";
    };
  }

  public static String of(FsyncPolicy policy) {
    return policy.name().toLowerCase(Locale.ROOT);
  }

  public static String count(long n) {
    return String.format(Locale.ROOT, "%,d", n);
  }

  public static String count(long n, String singular) {
    return count(n) + " " + (n == 1 ? singular : singular + "s");
  }

  /** "broker 2", "brokers 1 and 3". */
  public static String brokers(Collection<Integer> ids) {
    List<String> names = ids.stream().map(String::valueOf).toList();
    if (names.size() == 1) {
      return "broker " + names.get(0);
    }
    int last = names.size() - 1;
    return "brokers " + String.join(", ", names.subList(0, last)) + " and " + names.get(last);
  }

  public static String bytes(double bytes) {
    if (bytes < KIB) {
      return String.format(Locale.ROOT, "%.0f B", bytes);
    }
    if (bytes < KIB * KIB) {
      return String.format(Locale.ROOT, "%.1f KiB", bytes / KIB);
    }
    if (bytes < KIB * KIB * KIB) {
      return String.format(Locale.ROOT, "%.1f MiB", bytes / (KIB * KIB));
    }
    return String.format(Locale.ROOT, "%.2f GiB", bytes / (KIB * KIB * KIB));
  }

  public static String millis(long millis) {
    if (millis < 1_000) {
      return millis + " ms";
    }
    if (millis < 60_000) {
      return String.format(Locale.ROOT, "%.1f s", millis / 1_000.0);
    }
    long seconds = millis / 1_000;
    if (seconds < 3_600) {
      return seconds / 60 + " min " + seconds % 60 + " s";
    }
    return seconds / 3_600 + " h " + seconds / 60 % 60 + " min";
  }
}
