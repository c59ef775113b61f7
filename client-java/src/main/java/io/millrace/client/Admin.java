package io.millrace.client;

import io.millrace.protocol.message.BrokerStatusResponse;
import io.millrace.protocol.message.MetadataResponse;
import io.millrace.protocol.message.PeerFaults;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/**
 * Topics, offsets and the state of the cluster.
 *
 * <p>Threads: any; futures complete on the client's callback thread.
 *
 * <p>Errors: every call ends within the request timeout. Reads are repeated at other brokers.
 * Creating and deleting are repeated only while they certainly did not happen; an outcome of
 * UNKNOWN means: look with {@link #describeTopic}.
 */
public interface Admin {

  CompletableFuture<TopicDescription> createTopic(TopicSpec spec);

  CompletableFuture<Void> deleteTopic(String name);

  /** Changes settings; brokers follow within about a second. Returns the topic as it is then. */
  CompletableFuture<TopicDescription> alterTopic(String name, TopicChange change);

  /** Names, sorted. */
  CompletableFuture<List<String>> listTopics();

  /** Fails with {@link io.millrace.client.error.UnknownTopicException}. */
  CompletableFuture<TopicDescription> describeTopic(String name);

  CompletableFuture<ClusterDescription> describeCluster();

  /** What one broker knows of itself; it is asked directly. */
  CompletableFuture<BrokerStatusResponse> brokerStatus(int brokerId);

  /** As {@link #brokerStatus(int)}, with every segment of the replicas of one topic. */
  CompletableFuture<BrokerStatusResponse> brokerStatus(int brokerId, String segmentsOf);

  /**
   * Brokers and all topics as one broker knows them; it is asked directly and answers also when it
   * is behind what this client has seen. Which of several answers is the newest: that with the
   * highest metadata index in its context.
   */
  CompletableFuture<MetadataResponse> brokerMetadata(int brokerId);

  /**
   * The faults that one broker makes in the network between itself and others, by command; for
   * tests. REFUSED unless the broker's configuration says faults.allowed=true.
   */
  CompletableFuture<List<PeerFaults>> networkFaults(int brokerId);

  /**
   * Puts these faults in the place of all that the broker makes; none = a sound network. They last
   * until replaced or until the broker ends. Clients are not affected. Returns what is in force
   * then.
   */
  CompletableFuture<List<PeerFaults>> setNetworkFaults(int brokerId, Collection<PeerFaults> faults);

  CompletableFuture<Map<TopicPartition, OffsetAndTime>> listOffsets(
      Collection<TopicPartition> partitions, OffsetSpec spec);

  /**
   * Removes the records of a partition below an offset, for good and on all its replicas; they can
   * be read no more when this is done, and their files are deleted some time later. Asking for what
   * is gone already is no error.
   *
   * @param before first offset that stays, at most the committed end; {@link #listOffsets} with
   *     {@link OffsetSpec#latest} tells where that is
   * @return the first offset that can be read now, at least {@code before}
   */
  CompletableFuture<Long> deleteRecords(TopicPartition partition, long before);

  /**
   * @param timestampMillis of the record found by time, -1 = none
   * @param term of the leader that answered
   */
  record OffsetAndTime(long offset, long timestampMillis, long term) {}
}
