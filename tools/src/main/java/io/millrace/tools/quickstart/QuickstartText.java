package io.millrace.tools.quickstart;

import java.io.BufferedWriter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Random;

/**
 * The text that quickstart sends: what happened to a thousand orders of a shop, one line per event,
 * {@code order TAB event}. The same lines in each run; no two lines are equal, so that a doubled
 * one is seen.
 */
final class QuickstartText {
  private static final long SEED = 1_900;
  private static final int ORDERS = 1_000;
  private static final String FOUR_DIGITS = "0000";
  private static final int MOST_GOODS = 12;
  private static final long MILLIS_BETWEEN_EVENTS = 250;
  private static final Instant FIRST = Instant.parse("2026-01-01T08:00:00Z");
  private static final String[] GOODS = {
    "copper kettle",
    "oak table",
    "linen shirt",
    "bread oven",
    "mill stone",
    "rye flour",
    "bee's wax",
    "iron pan",
    "wool blanket",
    "paper lantern"
  };
  private static final String[] EVENTS = {
    "is asked for", "is put on the scale", "is packed", "is paid", "leaves the mill",
    "is on the road", "is handed over", "comes back", "is praised", "is asked for again"
  };

  private QuickstartText() {}

  static void write(Path file, int lines) throws IOException {
    Files.createDirectories(file.getParent());
    var random = new Random(SEED);
    int[] events = new int[ORDERS];
    try (BufferedWriter out = Files.newBufferedWriter(file)) {
      for (int i = 0; i < lines; i++) {
        int order = random.nextInt(ORDERS);
        int event = ++events[order];
        out.write(
            "order-"
                + FOUR_DIGITS.substring(Integer.toString(order).length())
                + order
                + '\t'
                + FIRST.plusMillis(i * MILLIS_BETWEEN_EVENTS)
                + " event "
                + event
                + ": "
                + (1 + random.nextInt(MOST_GOODS))
                + ' '
                + GOODS[order % GOODS.length]
                + ' '
                + EVENTS[(event - 1) % EVENTS.length]
                + '\n');
      }
    }
  }
}
