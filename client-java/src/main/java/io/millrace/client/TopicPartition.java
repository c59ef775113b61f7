package io.millrace.client;

/** One partition of a topic. */
public record TopicPartition(String topic, int partition) {

  public TopicPartition {
    Checks.topicName(topic);
    Checks.atLeast("partition", partition, 0);
  }

  @Override
  public String toString() {
    return topic + "-" + partition;
  }
}
