package io.millrace.client.metadata;

import com.google.protobuf.ByteString;
import io.millrace.client.FsyncPolicy;
import io.millrace.protocol.message.PartitionInfo;
import io.millrace.protocol.message.TopicInfo;
import java.util.Arrays;

/** A topic as the client knows it. Immutable. */
public final class TopicView {

  /** As broker id: no leader known. */
  public static final int NO_LEADER = 0;

  private final String name;
  private final ByteString id;
  private final FsyncPolicy fsync;
  private final int maxRecordBytes;
  private final int[] leaders;
  private final long[] terms;

  private TopicView(
      String name,
      ByteString id,
      FsyncPolicy fsync,
      int maxRecordBytes,
      int[] leaders,
      long[] terms) {
    this.name = name;
    this.id = id;
    this.fsync = fsync;
    this.maxRecordBytes = maxRecordBytes;
    this.leaders = leaders;
    this.terms = terms;
  }

  /** Keeps leaders of a higher term that are known already: two brokers may differ in them. */
  static TopicView of(TopicInfo info, TopicView known) {
    int count = info.getPartitionsCount();
    int[] leaders = new int[count];
    long[] terms = new long[count];
    for (PartitionInfo partition : info.getPartitionsList()) {
      int p = partition.getPartition();
      if (p >= 0 && p < count) {
        leaders[p] = partition.getLeader();
        terms[p] = partition.getTerm();
      }
    }
    if (known != null && known.id.equals(info.getId())) {
      for (int p = 0; p < Math.min(count, known.leaders.length); p++) {
        boolean newer = known.terms[p] > terms[p];
        boolean moreIsKnown = known.terms[p] == terms[p] && leaders[p] == NO_LEADER;
        if (newer || moreIsKnown) {
          leaders[p] = known.leaders[p];
          terms[p] = known.terms[p];
        }
      }
    }
    return new TopicView(
        info.getName(),
        info.getId(),
        FsyncPolicy.of(info.getSettings().getFsync()),
        info.getSettings().getMaxRecordBytes(),
        leaders,
        terms);
  }

  TopicView withLeader(int partition, int leader, long term) {
    int[] newLeaders = Arrays.copyOf(leaders, leaders.length);
    long[] newTerms = Arrays.copyOf(terms, terms.length);
    newLeaders[partition] = leader;
    newTerms[partition] = term;
    return new TopicView(name, id, fsync, maxRecordBytes, newLeaders, newTerms);
  }

  public String name() {
    return name;
  }

  /**
   * The UUID's 16 bytes: requests name topics by it, so that a topic that was deleted and made
   * again is another one.
   */
  public ByteString id() {
    return id;
  }

  public FsyncPolicy fsync() {
    return fsync;
  }

  /** 0 = the broker did not say. */
  public int maxRecordBytes() {
    return maxRecordBytes;
  }

  public int partitions() {
    return leaders.length;
  }

  /** {@link #NO_LEADER} when unknown. */
  public int leader(int partition) {
    return partition < leaders.length ? leaders[partition] : NO_LEADER;
  }

  public long term(int partition) {
    return partition < terms.length ? terms[partition] : 0;
  }
}
