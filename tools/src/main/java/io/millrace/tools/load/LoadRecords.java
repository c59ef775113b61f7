package io.millrace.tools.load;

import io.millrace.client.ProducerRecord;
import io.millrace.client.ReceivedRecord;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * The records of one run and back.
 *
 * <pre>
 * key    RUN ":" key number                    several runs may share a topic
 * value  RUN ":" key number ":" record number ":" filler up to the wanted size
 * </pre>
 *
 * The filler follows from key and record number, so each byte is checked when it comes back.
 */
public final class LoadRecords {
  private static final int ALPHABET = 26;

  private final String run;
  private final String topic;
  private final int valueBytes;
  private final String prefix;

  public LoadRecords(String run, String topic, int valueBytes) {
    this.run = run;
    this.topic = topic;
    this.valueBytes = valueBytes;
    this.prefix = run + ":";
  }

  public ProducerRecord record(int key, long number) {
    return ProducerRecord.of(
        topic, (prefix + key).getBytes(StandardCharsets.US_ASCII), value(key, number));
  }

  byte[] value(int key, long number) {
    byte[] head = (run + ":" + key + ":" + number + ":").getBytes(StandardCharsets.US_ASCII);
    byte[] value = Arrays.copyOf(head, Math.max(head.length, valueBytes));
    int seed = Math.floorMod(key * 31 + Long.hashCode(number), ALPHABET);
    for (int i = head.length; i < value.length; i++) {
      value[i] = (byte) ('a' + (seed + i) % ALPHABET);
    }
    return value;
  }

  /** Tells the verifier what this record is. */
  public void judge(ReceivedRecord record, LoadVerifier verifier) {
    String key = record.key() == null ? "" : new String(record.key(), StandardCharsets.US_ASCII);
    if (!key.startsWith(prefix)) {
      verifier.passed(record.partition(), record.offset());
      return;
    }
    String[] parts =
        record.value() == null
            ? new String[0]
            : new String(record.value(), StandardCharsets.US_ASCII).split(":", 4);
    boolean wellFormed =
        parts.length == 4
            && key.equals(prefix + parts[1])
            && parts[1].matches("\\d{1,9}")
            && parts[2].matches("\\d{1,18}")
            && Arrays.equals(
                record.value(), value(Integer.parseInt(parts[1]), Long.parseLong(parts[2])));
    if (wellFormed) {
      verifier.seen(
          Integer.parseInt(parts[1]),
          Long.parseLong(parts[2]),
          record.partition(),
          record.offset());
    } else {
      verifier.changed(record.partition(), record.offset(), "key " + key);
    }
  }
}
