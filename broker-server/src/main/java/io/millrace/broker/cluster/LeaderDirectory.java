package io.millrace.broker.cluster;

import io.millrace.protocol.message.LeaderAnnouncement;
import io.millrace.protocol.message.LedPartition;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Predicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Where the leaders of partitions are, as far as this broker heard: from its own replicas, and from
 * the announcements of other brokers.
 *
 * <p>Owns: soft state in memory. It is a hint, never a reason to acknowledge or to serve anything:
 * Raft decides that at the leader. The highest term wins; an entry stays until a higher term
 * supersedes it or its broker says that it leads no more, and even then its term is remembered so
 * that a late announcement of an older leader is not believed.
 *
 * <p>Threads: any. Listeners run on the caller's thread, outside all locks.
 */
public final class LeaderDirectory {

  private static final Logger LOG = LoggerFactory.getLogger(LeaderDirectory.class);

  /** A partition. */
  public record Key(UUID topicId, int partition) implements Comparable<Key> {
    @Override
    public int compareTo(Key other) {
      int byTopic = topicId.compareTo(other.topicId);
      return byTopic != 0 ? byTopic : Integer.compare(partition, other.partition);
    }
  }

  /**
   * @param broker 0 = none known
   * @param term of that leader, or the highest one heard of
   */
  public record Leader(int broker, long term) {
    public static final Leader UNKNOWN = new Leader(0, 0);
  }

  /** Is told after a change; must not block or throw. */
  public interface Listener {
    void leadersChanged();

    /** This broker began (term above 0) or ceased (0) to lead a partition. */
    default void localLeaderChanged(Key key, long term) {}
  }

  private record Entry(int broker, long term, boolean leads) {}

  private final int self;
  private final Map<Key, Entry> entries = new ConcurrentHashMap<>();
  private final TreeMap<Key, Long> local = new TreeMap<>();
  private final List<Listener> listeners = new CopyOnWriteArrayList<>();
  private Set<UUID> doomed = Set.of();

  public LeaderDirectory(int localBrokerId) {
    self = localBrokerId;
  }

  public void addListener(Listener listener) {
    listeners.add(listener);
  }

  public void removeListener(Listener listener) {
    listeners.remove(listener);
  }

  public Leader leader(UUID topicId, int partition) {
    Entry entry = entries.get(new Key(topicId, partition));
    if (entry == null) {
      return Leader.UNKNOWN;
    }
    return new Leader(entry.leads() ? entry.broker() : 0, entry.term());
  }

  /** A replica of this broker leads and is ready; called at leaderStarted. */
  public void localStarted(UUID topicId, int partition, long term) {
    Key key = new Key(topicId, partition);
    boolean changed;
    synchronized (this) {
      local.put(key, term);
      changed = put(key, self, term);
    }
    localChanged(key, term, changed);
  }

  /** A replica of this broker leads no more, or is being stopped; no effect if it did not lead. */
  public void localStopped(UUID topicId, int partition) {
    Key key = new Key(topicId, partition);
    boolean changed;
    synchronized (this) {
      if (local.remove(key) == null) {
        return;
      }
      changed = remove(key, self);
    }
    localChanged(key, 0, changed);
  }

  private void localChanged(Key key, long term, boolean directoryChanged) {
    listeners.forEach(listener -> listener.localLeaderChanged(key, term));
    if (directoryChanged) {
      listeners.forEach(Listener::leadersChanged);
    }
  }

  /** Takes what another broker announces. Malformed parts are skipped. */
  public void announced(LeaderAnnouncement announcement) {
    int broker = announcement.getBrokerId();
    if (broker == self || broker < 1) {
      return;
    }
    boolean changed = false;
    synchronized (this) {
      Set<Key> listed = new HashSet<>();
      for (LedPartition led : announcement.getLedList()) {
        if (Uuids.isUuid(led.getTopicId()) && led.getPartition() >= 0 && led.getTerm() > 0) {
          Key key = new Key(Uuids.of(led.getTopicId()), led.getPartition());
          listed.add(key);
          changed |= put(key, broker, led.getTerm());
        }
      }
      if (announcement.getComplete()) {
        for (Key key : entries.keySet()) {
          changed |= !listed.contains(key) && remove(key, broker);
        }
      }
    }
    if (changed) {
      listeners.forEach(Listener::leadersChanged);
    }
  }

  private boolean put(Key key, int broker, long term) {
    Entry known = entries.get(key);
    if (known != null && known.term() > term) {
      return false;
    }
    if (known != null && known.term() == term && known.broker() != broker) {
      LOG.error(
          "brokers {} and {} both say that they lead {} in term {}; the first one is kept",
          known.broker(),
          broker,
          key,
          term);
      return false;
    }
    Entry entry = new Entry(broker, term, true);
    entries.put(key, entry);
    return !entry.equals(known);
  }

  private boolean remove(Key key, int broker) {
    Entry known = entries.get(key);
    if (known == null || known.broker() != broker || !known.leads()) {
      return false;
    }
    entries.put(key, new Entry(broker, known.term(), false));
    return true;
  }

  /** Everything that this broker leads, as a complete announcement. */
  public synchronized LeaderAnnouncement localLeaders() {
    LeaderAnnouncement.Builder all =
        LeaderAnnouncement.newBuilder().setBrokerId(self).setComplete(true);
    local.forEach((key, term) -> all.addLed(toMessage(key, term)));
    return all.build();
  }

  static LedPartition toMessage(Key key, long term) {
    return LedPartition.newBuilder()
        .setTopicId(Uuids.toBytes(key.topicId()))
        .setPartition(key.partition())
        .setTerm(term)
        .build();
  }

  /**
   * Forgets topics that are not there at two calls in a row: between the calls a topic that was
   * merely created a moment ago becomes known.
   */
  public synchronized void forgetTopics(Predicate<UUID> exists) {
    Set<UUID> unknown = new HashSet<>();
    for (Key key : entries.keySet()) {
      if (!exists.test(key.topicId())) {
        unknown.add(key.topicId());
      }
    }
    entries
        .keySet()
        .removeIf(key -> unknown.contains(key.topicId()) && doomed.contains(key.topicId()));
    doomed = unknown;
  }

  /** Number of partitions in memory, for the list of what grows. */
  public int size() {
    return entries.size();
  }

  /** The partitions that a broker is known to lead. */
  public List<Key> ledBy(int broker) {
    List<Key> led = new ArrayList<>();
    entries.forEach(
        (key, entry) -> {
          if (entry.leads() && entry.broker() == broker) {
            led.add(key);
          }
        });
    led.sort(null);
    return led;
  }
}
