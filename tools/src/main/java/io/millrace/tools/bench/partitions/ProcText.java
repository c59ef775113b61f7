package io.millrace.tools.bench.partitions;

import io.millrace.tools.CommandFailure;

/** Reads numbers out of the texts under /proc/PID; see proc(5). Pure. */
final class ProcText {
  /** Fields of stat after the command's name, counted from 0. */
  private static final int STAT_USER_TICKS = 11;

  private static final int STAT_SYSTEM_TICKS = 12;

  private ProcText() {}

  /** User and system time of the process so far, in clock ticks. */
  static long cpuTicks(String stat) {
    // The name in parentheses may hold blanks and parentheses itself.
    String[] fields = stat.substring(stat.lastIndexOf(')') + 1).strip().split(" +");
    if (fields.length <= STAT_SYSTEM_TICKS) {
      throw unreadable("stat", "it has only " + fields.length + " fields after the name");
    }
    return number("stat", fields[STAT_USER_TICKS]) + number("stat", fields[STAT_SYSTEM_TICKS]);
  }

  /** The number of a line "Name: number" with or without a unit behind it. */
  static long field(String text, String name) {
    String start = name + ":";
    for (String line : text.split("\n")) {
      if (line.startsWith(start)) {
        return number(name, line.substring(start.length()).strip().split("\\s+")[0]);
      }
    }
    throw unreadable(name, "there is no such line");
  }

  private static long number(String where, String digits) {
    try {
      return Long.parseLong(digits);
    } catch (NumberFormatException e) {
      throw unreadable(where, "'" + digits + "' is no number");
    }
  }

  private static CommandFailure unreadable(String where, String why) {
    return new CommandFailure(where + " of a broker under /proc can not be read: " + why);
  }
}
