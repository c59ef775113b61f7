package io.millrace.broker.cluster;

import io.millrace.broker.cluster.message.MetadataCommand;
import io.millrace.broker.cluster.message.MetadataResult;
import java.util.concurrent.CompletableFuture;

/**
 * Takes a command to the leader of the metadata group on another broker, where {@link
 * MetadataService#submitForwarded} runs it.
 */
public interface MetadataForwarder {

  /**
   * Never blocks and never throws.
   *
   * @param timeoutMillis how long the caller waits
   * @return the leader's result; or failed with a MillraceException of outcome NOT_DONE if the
   *     command was certainly not received, else with any other exception
   */
  CompletableFuture<MetadataResult> forward(
      int leaderBrokerId, MetadataCommand command, long timeoutMillis);
}
