package io.millrace.broker.cluster;

import com.google.protobuf.ByteString;
import io.millrace.broker.cluster.message.MetadataCommand;
import io.millrace.broker.cluster.message.MetadataResult;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.NavigableMap;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.UUID;
import java.util.function.Consumer;

/**
 * The whole state of the metadata group at one index: brokers, topics and their target placement,
 * deleted topics that still have directories somewhere, producer ids, feature level.
 *
 * <p>Owns: immutable data; applying a command gives a new state. What is derived from a state and a
 * command depends on nothing else: no clock, no setting, no random number, so every replica gets
 * the same.
 *
 * <p>Threads: any.
 */
public final class MetadataState {

  /** Level of the first release; each later level allows more types of log entries. */
  public static final int FIRST_FEATURE_LEVEL = 1;

  /** Producer ids begin here, so that 0 in a message never is one. */
  public static final long FIRST_PRODUCER_ID = 1;

  public static final MetadataState EMPTY = new MetadataState(new Draft());

  private final long index;
  private final int featureLevel;
  private final long nextProducerId;
  private final NavigableMap<Integer, BrokerEntry> brokers;
  private final NavigableMap<String, TopicEntry> topics;
  private final Map<UUID, String> namesById;
  private final NavigableMap<UUID, DeletedTopic> deleted;

  /** A new state and what the command's sender is told. */
  public record Step(MetadataState state, MetadataResult result) {}

  /** The fields of a state while it is built. */
  static final class Draft {
    long index;
    int featureLevel = FIRST_FEATURE_LEVEL;
    long nextProducerId = FIRST_PRODUCER_ID;
    NavigableMap<Integer, BrokerEntry> brokers = new TreeMap<>();
    NavigableMap<String, TopicEntry> topics = new TreeMap<>();
    Map<UUID, String> namesById = new HashMap<>();
    NavigableMap<UUID, DeletedTopic> deleted = new TreeMap<>();

    void putTopic(TopicEntry topic) {
      topics.put(topic.name(), topic);
      namesById.put(topic.id(), topic.name());
    }

    void removeTopic(TopicEntry topic) {
      topics.remove(topic.name());
      namesById.remove(topic.id());
    }

    MetadataState build() {
      return new MetadataState(this);
    }
  }

  private MetadataState(Draft draft) {
    index = draft.index;
    featureLevel = draft.featureLevel;
    nextProducerId = draft.nextProducerId;
    brokers = Collections.unmodifiableNavigableMap(draft.brokers);
    topics = Collections.unmodifiableNavigableMap(draft.topics);
    namesById = Collections.unmodifiableMap(draft.namesById);
    deleted = Collections.unmodifiableNavigableMap(draft.deleted);
  }

  /**
   * Applies the command of one log entry. Everything is checked again here, whatever its proposer
   * checked: other commands may have come in between.
   *
   * @throws IllegalArgumentException if the index does not grow or the command is of no known kind;
   *     both stop the replica
   */
  public Step apply(long entryIndex, MetadataCommand command) {
    if (entryIndex <= index) {
      throw new IllegalArgumentException(
          "metadata entry " + entryIndex + " after entry " + index + " was applied");
    }
    return MetadataTransitions.apply(this, entryIndex, command);
  }

  /** This state at a later index with some fields changed; maps are copied before the change. */
  MetadataState changed(long newIndex, Consumer<Draft> change) {
    Draft draft = new Draft();
    draft.index = newIndex;
    draft.featureLevel = featureLevel;
    draft.nextProducerId = nextProducerId;
    draft.brokers = new TreeMap<>((SortedMap<Integer, BrokerEntry>) brokers);
    draft.topics = new TreeMap<>((SortedMap<String, TopicEntry>) topics);
    draft.namesById = new HashMap<>(namesById);
    draft.deleted = new TreeMap<>((SortedMap<UUID, DeletedTopic>) deleted);
    change.accept(draft);
    return draft.build();
  }

  /** Index of the last applied metadata command; the same on every broker in the same state. */
  public long index() {
    return index;
  }

  public int featureLevel() {
    return featureLevel;
  }

  public long nextProducerId() {
    return nextProducerId;
  }

  /** By id, ascending. */
  public Collection<BrokerEntry> brokers() {
    return brokers.values();
  }

  /** Null if no such broker is registered. */
  public BrokerEntry broker(int id) {
    return brokers.get(id);
  }

  /** By name, ascending. */
  public Collection<TopicEntry> topics() {
    return topics.values();
  }

  /** Null if there is no such topic. */
  public TopicEntry topic(String name) {
    return topics.get(name);
  }

  /** Null if there is no such topic. */
  public TopicEntry topic(UUID id) {
    String name = namesById.get(id);
    return name == null ? null : topics.get(name);
  }

  /** Deleted topics of which something may be left on some broker; by id. */
  public Collection<DeletedTopic> deleted() {
    return deleted.values();
  }

  /** Null if the topic was not deleted, or nothing of it is left. */
  public DeletedTopic deleted(UUID id) {
    return deleted.get(id);
  }

  /** The whole state as bytes; equal states give equal bytes. */
  public ByteString image() {
    return MetadataImages.toImage(this).toByteString();
  }

  /**
   * @throws IllegalArgumentException if the bytes are no image
   */
  public static MetadataState ofImage(ByteString image) {
    return MetadataImages.parse(image);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof MetadataState that
        && index == that.index
        && featureLevel == that.featureLevel
        && nextProducerId == that.nextProducerId
        && brokers.equals(that.brokers)
        && topics.equals(that.topics)
        && deleted.equals(that.deleted);
  }

  @Override
  public int hashCode() {
    return Long.hashCode(index);
  }

  @Override
  public String toString() {
    return "metadata at "
        + index
        + ": "
        + brokers.size()
        + " brokers, "
        + topics.size()
        + " topics, "
        + deleted.size()
        + " deleted topics with directories left";
  }
}
