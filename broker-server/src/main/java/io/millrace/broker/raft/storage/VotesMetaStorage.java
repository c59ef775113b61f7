package io.millrace.broker.raft.storage;

import com.alipay.sofa.jraft.core.NodeImpl;
import com.alipay.sofa.jraft.entity.EnumOutter.ErrorType;
import com.alipay.sofa.jraft.entity.PeerId;
import com.alipay.sofa.jraft.error.RaftError;
import com.alipay.sofa.jraft.error.RaftException;
import com.alipay.sofa.jraft.option.RaftMetaStorageOptions;
import com.alipay.sofa.jraft.storage.RaftMetaStorage;
import java.io.IOException;

/**
 * Term and vote of one group, kept in the broker's votes files.
 *
 * <p>Threads: JRaft calls under the node's lock.
 *
 * <p>Durability: a save returns true only after both files are fsynced. JRaft ignores a false
 * answer when it steps down, so a failure is also reported to the node, which then stops.
 */
public final class VotesMetaStorage implements RaftMetaStorage {

  private final VotesJournal journal;
  private final String group;
  private volatile long term;
  private volatile PeerId votedFor = PeerId.emptyPeer();
  private NodeImpl node;

  public VotesMetaStorage(VotesJournal journal, String group) {
    this.journal = journal;
    this.group = group;
    GroupState state = journal.state(group);
    term = state.term();
    if (!state.votedFor().isEmpty()) {
      votedFor = PeerId.parsePeer(state.votedFor());
    }
  }

  @Override
  public boolean init(RaftMetaStorageOptions options) {
    node = options.getNode();
    return true;
  }

  @Override
  public void shutdown() {
    // Everything was stored when it changed.
  }

  @Override
  public boolean setTerm(long newTerm) {
    return setTermAndVotedFor(newTerm, votedFor);
  }

  @Override
  public long getTerm() {
    return term;
  }

  @Override
  public boolean setVotedFor(PeerId peer) {
    return setTermAndVotedFor(term, peer);
  }

  @Override
  public PeerId getVotedFor() {
    return votedFor;
  }

  @Override
  public boolean setTermAndVotedFor(long newTerm, PeerId peer) {
    try {
      journal.saveVote(group, newTerm, peer.isEmpty() ? "" : peer.toString());
    } catch (IOException e) {
      node.onError(
          new RaftException(ErrorType.ERROR_TYPE_META, RaftError.EIO, "%s", e.getMessage()));
      return false;
    }
    term = newTerm;
    votedFor = peer.copy();
    return true;
  }
}
