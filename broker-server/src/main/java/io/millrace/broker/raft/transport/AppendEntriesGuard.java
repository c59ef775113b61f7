package io.millrace.broker.raft.transport;

import com.alipay.sofa.jraft.entity.EnumOutter.EntryType;
import com.alipay.sofa.jraft.entity.RaftOutter.EntryMeta;
import com.alipay.sofa.jraft.rpc.RpcRequests.AppendEntriesRequest;
import io.millrace.protocol.batch.BatchHeader;
import java.nio.ByteBuffer;
import java.util.function.Consumer;

/**
 * Looks at every AppendEntries request before JRaft does.
 *
 * <p>Divergence: a leader of the current term holds every committed entry (Raft, section 5.4,
 * Leader Completeness). JRaft answers "stored" for entries at or below its applied index without
 * comparing terms (LogManagerImpl.checkAndResolveConflict), so a leader that lost a committed entry
 * would collect acknowledgements for what nobody stored, and the second loss would be silent. A
 * different term at or below the applied index therefore stops this replica.
 *
 * <p>Damage on the way: each batch's CRC is checked before it can be acknowledged.
 *
 * <p>Threads: one request at a time.
 */
public final class AppendEntriesGuard {

  /** What the guard compares with. */
  public interface Applied {
    long appliedIndex();

    /** Term of an entry of the log; 0 = not in the log. */
    long termAt(long index);

    /** Newest term that this replica has seen. */
    long currentTerm();
  }

  private final Applied applied;
  private final Consumer<String> onDivergence;

  /**
   * @param onDivergence told once per divergent request; must stop the replica
   */
  public AppendEntriesGuard(Applied applied, Consumer<String> onDivergence) {
    this.applied = applied;
    this.onDivergence = onDivergence;
  }

  /** Why the request must not reach JRaft, or null. */
  String refusal(AppendEntriesRequest request) {
    String divergence = divergence(request);
    if (divergence != null) {
      onDivergence.accept(divergence);
      return divergence;
    }
    return damage(request);
  }

  private String divergence(AppendEntriesRequest request) {
    // Read in this order: an entry of a term is applied only after that term was seen, so a request
    // of an older leader cannot pass the comparison of terms.
    long appliedIndex = applied.appliedIndex();
    if (request.getTerm() < applied.currentTerm()) {
      return null; // JRaft refuses a stale leader; its log may differ.
    }
    long index = request.getPrevLogIndex();
    String found = compare(index, request.getPrevLogTerm(), appliedIndex, request);
    for (int i = 0; found == null && i < request.getEntriesCount() && index < appliedIndex; i++) {
      index++;
      found = compare(index, request.getEntries(i).getTerm(), appliedIndex, request);
    }
    return found;
  }

  private String compare(long index, long term, long appliedIndex, AppendEntriesRequest request) {
    if (index == 0 || index > appliedIndex) {
      return null;
    }
    long own = applied.termAt(index);
    if (own == 0 || own == term) {
      return null;
    }
    return "divergence: entry "
        + index
        + " is committed here in term "
        + own
        + ", but "
        + request.getServerId()
        + ", leader of term "
        + request.getTerm()
        + ", has it in term "
        + term;
  }

  /** True if one of the entries is a batch of records; checked requests only. */
  static boolean hasRecords(AppendEntriesRequest request) {
    if (!request.hasData()) {
      return false;
    }
    ByteBuffer data = request.getData().asReadOnlyByteBuffer();
    int at = 0;
    for (EntryMeta meta : request.getEntriesList()) {
      if (meta.getType() == EntryType.ENTRY_TYPE_DATA && !BatchHeader.isControl(data, at)) {
        return true;
      }
      at += (int) meta.getDataLen();
    }
    return false;
  }

  private static String damage(AppendEntriesRequest request) {
    if (!request.hasData()) {
      return null;
    }
    ByteBuffer data = request.getData().asReadOnlyByteBuffer();
    long index = request.getPrevLogIndex();
    for (EntryMeta meta : request.getEntriesList()) {
      index++;
      int length = Math.toIntExact(meta.getDataLen());
      if (length > data.remaining()) {
        return "entry " + index + " claims " + length + " bytes, " + data.remaining() + " are left";
      }
      if (meta.getType() == EntryType.ENTRY_TYPE_DATA) {
        ByteBuffer batch = data.slice(data.position(), length);
        if (length < BatchHeader.SIZE
            || BatchHeader.sizeInBytes(batch, 0) != length
            || !BatchHeader.isIntact(batch, 0)) {
          return "entry " + index + " was damaged on its way from " + request.getServerId();
        }
      }
      data.position(data.position() + length);
    }
    return null;
  }
}
