package io.millrace.tools.bench;

import java.util.Random;

/** Values to send, made before the measuring: random bytes, the same ones in each run. */
final class Values {
  private static final long SEED = 20_260_101;
  private static final int MOST_VALUES = 4_096;
  private static final long POOL_BYTES = 64L * 1024 * 1024;

  private final byte[][] pool;

  Values(int size) {
    int count = (int) Math.max(1, Math.min(MOST_VALUES, POOL_BYTES / Math.max(1, size)));
    var random = new Random(SEED);
    pool = new byte[count][];
    for (int i = 0; i < count; i++) {
      pool[i] = new byte[size];
      random.nextBytes(pool[i]);
    }
  }

  byte[] get(long number) {
    return pool[(int) (number % pool.length)];
  }
}
