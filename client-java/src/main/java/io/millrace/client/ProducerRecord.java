package io.millrace.client;

import io.millrace.protocol.batch.RecordHeader;
import java.util.List;

/**
 * A record to be sent.
 *
 * <p>The arrays are copied during {@code send}, except while the topic is not known yet: do not
 * change them before the future is complete.
 *
 * @param partition null: chosen by the key's hash (the same choice as Kafka's default partitioner),
 *     without a key by the producer, a batch at a time
 * @param key null allowed
 * @param value null allowed
 * @param timestampMillis null: the time of {@code send}
 */
public record ProducerRecord(
    String topic,
    Integer partition,
    byte[] key,
    byte[] value,
    List<RecordHeader> headers,
    Long timestampMillis) {

  public ProducerRecord {
    headers = headers == null ? List.of() : headers;
  }

  public static ProducerRecord of(String topic, byte[] key, byte[] value) {
    return new ProducerRecord(topic, null, key, value, List.of(), null);
  }

  public static ProducerRecord of(String topic, byte[] value) {
    return new ProducerRecord(topic, null, null, value, List.of(), null);
  }

  public ProducerRecord toPartition(int partition) {
    return new ProducerRecord(topic, partition, key, value, headers, timestampMillis);
  }

  public ProducerRecord withHeaders(List<RecordHeader> headers) {
    return new ProducerRecord(topic, partition, key, value, headers, timestampMillis);
  }

  public ProducerRecord at(long timestampMillis) {
    return new ProducerRecord(topic, partition, key, value, headers, timestampMillis);
  }
}
