package io.millrace.client.producer;

/**
 * The hash by which Kafka's default partitioner places keys (MurmurHash2, 32 bit, seed 0x9747b28c),
 * so that a key keeps its partition number when a topic moves between the two.
 */
final class Murmur2 {

  private static final int SEED = 0x9747b28c;
  private static final int M = 0x5bd1e995;
  private static final int R = 24;

  private Murmur2() {}

  static int partition(byte[] key, int partitions) {
    return (hash(key) & 0x7fffffff) % partitions;
  }

  static int hash(byte[] data) {
    int length = data.length;
    int h = SEED ^ length;
    int words = length >> 2;
    for (int i = 0; i < words; i++) {
      int at = i << 2;
      int k =
          (data[at] & 0xff)
              | (data[at + 1] & 0xff) << 8
              | (data[at + 2] & 0xff) << 16
              | (data[at + 3] & 0xff) << 24;
      k *= M;
      k ^= k >>> R;
      k *= M;
      h *= M;
      h ^= k;
    }
    int tail = length & ~3;
    switch (length & 3) {
      case 3:
        h ^= (data[tail + 2] & 0xff) << 16;
      // fall through
      case 2:
        h ^= (data[tail + 1] & 0xff) << 8;
      // fall through
      case 1:
        h ^= data[tail] & 0xff;
        h *= M;
        break;
      default:
        break;
    }
    h ^= h >>> 13;
    h *= M;
    h ^= h >>> 15;
    return h;
  }
}
