package io.millrace.tools.load;

/** What must never happen; the text says how it shows. */
public enum Violation {
  LOST("acknowledged, and not there when its place was read"),
  DOUBLED("there twice"),
  REORDERED("there after a later record of its key"),
  MISPLACED("at another place than its receipt says"),
  RESURRECTED("reported as certainly not done, and there"),
  CHANGED("there with other bytes than were sent"),
  FOREIGN("there and never sent"),
  GAP("an offset was skipped"),
  REREAD("an offset was handed out twice by the reader"),
  UNREADABLE("the reader was refused for good");

  private final String meaning;

  Violation(String meaning) {
    this.meaning = meaning;
  }

  public String meaning() {
    return meaning;
  }
}
