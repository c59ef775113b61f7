package io.millrace.broker.raft.storage;

import com.alipay.sofa.jraft.entity.EnumOutter.EntryType;
import com.alipay.sofa.jraft.entity.LogEntry;
import com.alipay.sofa.jraft.entity.LogId;
import com.alipay.sofa.jraft.error.LogEntryCorruptedException;
import io.millrace.broker.raft.message.ConfigurationAt;
import java.nio.ByteBuffer;

/**
 * An entry that lies in the segments. Its index, term, kind and members are known without a read;
 * its data is read when asked for, since JRaft looks up entries for their term alone at every
 * heartbeat.
 *
 * <p>Errors: data that cannot be read is reported to the replica, which stops, and {@link #getData}
 * throws: an entry without its data must never be sent or applied.
 */
final class StoredEntry extends LogEntry {

  private final SegmentLogStorage storage;
  private ByteBuffer data;

  StoredEntry(SegmentLogStorage storage, long index, long term, ConfigurationAt configuration) {
    super(configuration == null ? EntryType.ENTRY_TYPE_DATA : EntryType.ENTRY_TYPE_CONFIGURATION);
    this.storage = storage;
    setId(new LogId(index, term));
    if (configuration != null) {
      GroupConfigurations.fill(this, configuration.getConfiguration());
    }
  }

  @Override
  public synchronized ByteBuffer getData() {
    if (getType() != EntryType.ENTRY_TYPE_DATA) {
      return null;
    }
    if (data == null) {
      data = storage.readData(getId().getIndex());
      if (data == null) {
        throw new LogEntryCorruptedException("entry " + getId() + " cannot be read");
      }
    }
    return data;
  }

  @Override
  public ByteBuffer getReadOnlyData() {
    return getData().asReadOnlyBuffer();
  }

  @Override
  public ByteBuffer sliceData() {
    return getData().slice();
  }

  @Override
  public boolean equals(Object other) {
    return this == other;
  }

  @Override
  public int hashCode() {
    return System.identityHashCode(this);
  }
}
