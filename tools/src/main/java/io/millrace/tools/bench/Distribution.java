package io.millrace.tools.bench;

import java.util.Collection;

/**
 * Figures of several runs in short.
 *
 * @param median the middle one, or the mean of the two in the middle
 * @param p90 the smallest figure that at least nine of ten do not exceed
 */
public record Distribution(int count, double min, double median, double p90, double max) {
  private static final int P90 = 90;

  /**
   * @throws IllegalArgumentException of no figures
   */
  public static Distribution of(Collection<? extends Number> figures) {
    if (figures.isEmpty()) {
      throw new IllegalArgumentException("a distribution of no figures");
    }
    double[] sorted = figures.stream().mapToDouble(Number::doubleValue).sorted().toArray();
    int middle = sorted.length / 2;
    double median =
        sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
    return new Distribution(
        sorted.length, sorted[0], median, percentile(sorted, P90), sorted[sorted.length - 1]);
  }

  /** Nearest rank: always one of the figures. */
  static double percentile(double[] sorted, int percent) {
    int rank = (int) Math.ceil(sorted.length * percent / 100.0);
    return sorted[Math.max(1, rank) - 1];
  }
}
