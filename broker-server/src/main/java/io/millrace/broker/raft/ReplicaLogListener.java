package io.millrace.broker.raft;

import io.millrace.broker.log.LogListener;
import io.millrace.broker.log.SyncMark;
import io.millrace.broker.raft.storage.VotesJournal;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps a log's durable sync mark in the votes files.
 *
 * <p>Threads: the log's writer.
 */
final class ReplicaLogListener implements LogListener {

  private static final Logger LOG = LoggerFactory.getLogger(ReplicaLogListener.class);

  private final VotesJournal votes;
  private final String groupId;
  private final StateMachineFactory factory;

  ReplicaLogListener(VotesJournal votes, String groupId, StateMachineFactory factory) {
    this.votes = votes;
    this.groupId = groupId;
    this.factory = factory;
  }

  /** The failed call also throws into the storage, which stops the replica. */
  @Override
  public void failed(String reason, Throwable cause) {
    LOG.error("{}: log takes no more writes: {}", groupId, reason, cause);
  }

  @Override
  public void lowerDurableMark(SyncMark mark) throws IOException {
    SyncMark stored = votes.state(groupId).mark();
    if (stored != null && stored.index() > mark.index()) {
      votes.saveMarks(Map.of(groupId, mark));
    }
  }

  @Override
  public void rolled() {
    factory.segmentClosed();
  }

  @Override
  public long logTimeOf(ByteBuffer timeBatch) {
    return factory.logTimeOf(timeBatch);
  }
}
