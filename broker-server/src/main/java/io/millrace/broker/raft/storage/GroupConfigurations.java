package io.millrace.broker.raft.storage;

import com.alipay.sofa.jraft.conf.Configuration;
import com.alipay.sofa.jraft.conf.ConfigurationEntry;
import com.alipay.sofa.jraft.entity.LogEntry;
import com.alipay.sofa.jraft.entity.LogId;
import com.alipay.sofa.jraft.entity.PeerId;
import com.google.protobuf.InvalidProtocolBufferException;
import io.millrace.broker.raft.message.ConfigurationAt;
import io.millrace.broker.raft.message.GroupConfiguration;
import io.millrace.protocol.batch.ControlBatch;
import io.millrace.protocol.batch.ControlType;
import io.millrace.protocol.batch.InvalidBatchException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;

/**
 * The configuration entries of one group's log, in memory: there is one per election or change of
 * members. With them at hand, a log entry's kind and members need no read, and a checkpoint can
 * name the members at its index.
 *
 * <p>Threads: any.
 */
public final class GroupConfigurations {

  private final NavigableMap<Long, ConfigurationAt> byIndex = new TreeMap<>();

  public synchronized void add(ConfigurationAt entry) {
    byIndex.put(entry.getIndex(), entry);
  }

  synchronized void truncateSuffix(long lastIndexKept) {
    byIndex.tailMap(lastIndexKept, false).clear();
  }

  synchronized void clear() {
    byIndex.clear();
  }

  /** The log begins later: only the one in force at its begin is needed of those before. */
  public synchronized void forgetBefore(long firstIndex) {
    Long inForce = byIndex.lowerKey(firstIndex);
    if (inForce != null) {
      byIndex.headMap(inForce, false).clear();
    }
  }

  /** Members in force at an index; null if none is known. */
  public synchronized GroupConfiguration inForceAt(long index) {
    Map.Entry<Long, ConfigurationAt> last = byIndex.floorEntry(index);
    return last == null ? null : last.getValue().getConfiguration();
  }

  synchronized ConfigurationAt at(long index) {
    return byIndex.get(index);
  }

  /** All entries at or below the index, ascending: what a checkpoint stores. */
  public synchronized List<ConfigurationAt> upTo(long index) {
    return new ArrayList<>(byIndex.headMap(index, true).values());
  }

  /** All entries above the index, ascending. */
  synchronized List<ConfigurationAt> after(long index) {
    return new ArrayList<>(byIndex.tailMap(index, false).values());
  }

  /** Voters of the newest configuration, empty if there is none. */
  public synchronized Collection<PeerId> newestPeers() {
    Map.Entry<Long, ConfigurationAt> last = byIndex.lastEntry();
    return last == null ? List.of() : peers(last.getValue().getConfiguration().getPeersList());
  }

  // --------------------------------------------------------------------- to and from JRaft and the
  // log

  static ByteBuffer toBatch(LogEntry entry) {
    return ControlBatch.encode(ControlType.CONF, fromEntry(entry));
  }

  static ConfigurationAt fromBatch(long index, long term, ByteBuffer batch)
      throws InvalidBatchException, InvalidProtocolBufferException {
    return ConfigurationAt.newBuilder()
        .setIndex(index)
        .setTerm(term)
        .setConfiguration(GroupConfiguration.parseFrom(ControlBatch.decode(batch).value()))
        .build();
  }

  static ConfigurationAt at(LogEntry entry) {
    return ConfigurationAt.newBuilder()
        .setIndex(entry.getId().getIndex())
        .setTerm(entry.getId().getTerm())
        .setConfiguration(fromEntry(entry))
        .build();
  }

  private static GroupConfiguration fromEntry(LogEntry entry) {
    return GroupConfiguration.newBuilder()
        .addAllPeers(names(entry.getPeers()))
        .addAllOldPeers(names(entry.getOldPeers()))
        .addAllLearners(names(entry.getLearners()))
        .addAllOldLearners(names(entry.getOldLearners()))
        .build();
  }

  static void fill(LogEntry entry, GroupConfiguration configuration) {
    entry.setPeers(peers(configuration.getPeersList()));
    // JRaft tells "no joint stage" by null.
    entry.setOldPeers(orNull(peers(configuration.getOldPeersList())));
    entry.setLearners(orNull(peers(configuration.getLearnersList())));
    entry.setOldLearners(orNull(peers(configuration.getOldLearnersList())));
  }

  static ConfigurationEntry toJRaft(ConfigurationAt at) {
    GroupConfiguration stored = at.getConfiguration();
    return new ConfigurationEntry(
        new LogId(at.getIndex(), at.getTerm()),
        new Configuration(peers(stored.getPeersList()), peers(stored.getLearnersList())),
        new Configuration(peers(stored.getOldPeersList()), peers(stored.getOldLearnersList())));
  }

  private static List<PeerId> orNull(List<PeerId> peers) {
    return peers.isEmpty() ? null : peers;
  }

  private static List<String> names(Collection<PeerId> peers) {
    return peers == null ? List.of() : peers.stream().map(PeerId::toString).toList();
  }

  private static List<PeerId> peers(Collection<String> names) {
    List<PeerId> peers = new ArrayList<>(names.size());
    for (String name : names) {
      peers.add(PeerId.parsePeer(name));
    }
    return peers;
  }
}
