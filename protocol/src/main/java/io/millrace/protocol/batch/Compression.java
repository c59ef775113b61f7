package io.millrace.protocol.batch;

import java.util.Locale;

/** Codecs of the records of a batch; the id stands in attribute bits 0 to 2, as in Kafka. */
public enum Compression {
  NONE(0),
  GZIP(1),
  SNAPPY(2),
  LZ4(3),
  ZSTD(4);

  private static final Compression[] BY_ID = values();

  private final int id;

  Compression(int id) {
    this.id = id;
  }

  public int id() {
    return id;
  }

  /** Null when no codec has this id. */
  public static Compression of(int id) {
    return id >= 0 && id < BY_ID.length ? BY_ID[id] : null;
  }

  /** By name in any case; throws IllegalArgumentException that lists the names. */
  public static Compression of(String name) {
    for (Compression codec : BY_ID) {
      if (codec.name().equalsIgnoreCase(name)) {
        return codec;
      }
    }
    throw new IllegalArgumentException(
        "compression '" + name + "' is not known; use one of none, gzip, snappy, lz4, zstd");
  }

  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }
}
