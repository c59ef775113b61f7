package io.millrace.broker.cluster;

import io.millrace.broker.cluster.message.MetadataCommand;
import io.millrace.broker.cluster.message.MetadataResult;
import io.millrace.protocol.message.AlterTopicRequest;
import io.millrace.protocol.message.AlterTopicResponse;
import io.millrace.protocol.message.CreateTopicRequest;
import io.millrace.protocol.message.CreateTopicResponse;
import io.millrace.protocol.message.DeleteTopicRequest;
import io.millrace.protocol.message.DeleteTopicResponse;
import io.millrace.protocol.message.MetadataRequest;
import io.millrace.protocol.message.MetadataResponse;
import java.util.concurrent.CompletableFuture;

/**
 * What the rest of the broker asks of the cluster's metadata. Every broker answers; changes go
 * through the leader of the metadata group wherever it is.
 *
 * <p>Threads: any; nothing blocks. Futures complete exactly once and never exceptionally: a failure
 * is an error in the result or in the response's context. They complete on a thread of this package
 * or of the Raft group, which the caller must not block.
 */
public interface MetadataService {

  /** The newest local state; committed, possibly behind. */
  MetadataState state();

  /** Brokers, topics and leaders as this broker knows them, with the index of that knowledge. */
  MetadataResponse describe(MetadataRequest request);

  /**
   * Runs a command and gives its result, once it is committed.
   *
   * @param timeoutMillis end of all attempts; then NO_METADATA_LEADER if it is certainly not done,
   *     else an error of outcome UNKNOWN
   */
  CompletableFuture<MetadataResult> submit(MetadataCommand command, long timeoutMillis);

  /** A command from {@link MetadataForwarder} on another broker; NOT_LEADER if not for here. */
  CompletableFuture<MetadataResult> submitForwarded(MetadataCommand command, long timeoutMillis);

  /** Done when every partition has a leader; IN_PROGRESS when the topic is there without. */
  CompletableFuture<CreateTopicResponse> createTopic(CreateTopicRequest request);

  /** Done when committed; brokers follow as they learn of it. */
  CompletableFuture<AlterTopicResponse> alterTopic(AlterTopicRequest request);

  /** Done when committed; brokers remove the replicas afterwards. */
  CompletableFuture<DeleteTopicResponse> deleteTopic(DeleteTopicRequest request);
}
