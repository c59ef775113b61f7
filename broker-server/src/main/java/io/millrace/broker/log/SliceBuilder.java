package io.millrace.broker.log;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * Gathers the regions of one {@link FetchSlice}: from index entry to index entry, whose positions
 * are batch boundaries, and batch by batch only where a limit falls between two entries.
 *
 * <p>Threads: one, with the log's structure lock held shared.
 */
final class SliceBuilder {

  /** One region is one system call to send; more would make fetches of tiny runs slow. */
  private static final int MAX_REGIONS = 64;

  private static final int ENTRIES_AT_ONCE = 16;

  private final LogView view;
  private final long endOffset;
  private final int maxBytes;
  private final List<FileRegion> regions = new ArrayList<>();
  private final List<FileHandles.Handle> handles = new ArrayList<>();

  private long baseOffset = -1;
  private long nextOffset;
  private int bytes;
  private boolean full;

  private Segment segment;
  private DiskFile file;
  private int regionStart;
  private int position;
  private long index;

  private SliceBuilder(LogView view, long offset, long endOffset, int maxBytes) {
    this.view = view;
    this.nextOffset = offset;
    this.endOffset = endOffset;
    this.maxBytes = maxBytes;
  }

  static FetchSlice build(LogView view, long offset, long endOffset, int maxBytes)
      throws IOException {
    long end = Math.min(endOffset, view.logEnd());
    if (offset < view.logStart() || offset >= end) {
      return FetchSlice.empty(offset);
    }
    SliceBuilder builder = new SliceBuilder(view, offset, end, maxBytes);
    try {
      int ordinal = view.segmentOfOffset(offset);
      while (ordinal < view.segments().length && !builder.full) {
        builder.addSegment(ordinal++);
      }
      return builder.slice(offset);
    } catch (IOException | RuntimeException e) {
      builder.handles.forEach(FileHandles.Handle::giveBack);
      throw e;
    }
  }

  private FetchSlice slice(long offset) {
    if (bytes == 0) {
      handles.forEach(FileHandles.Handle::giveBack);
      return FetchSlice.empty(offset);
    }
    int lastTerm = (int) view.epochs().termOfOffset(nextOffset - 1);
    return new FetchSlice(regions, handles, bytes, baseOffset, nextOffset, lastTerm);
  }

  private void addSegment(int ordinal) throws IOException {
    if (nextOffset >= view.endOffset(ordinal)) {
      return;
    }
    segment = view.segments()[ordinal];
    file = segment.log().lend();
    handles.add(segment.log());
    int end = view.endPosition(ordinal);
    long wanted = nextOffset;
    int at = seekRecords(wanted, end, -1);
    if (at < 0) {
      throw new IndexDamagedException(segment, "offset " + wanted + " is not in the index");
    }
    skipTo(wanted, end);
    while (at >= 0 && !full) {
      at = addRun(at + 1, end, view.endOffset(ordinal));
      closeRegion();
    }
  }

  /**
   * Goes to the last index entry at or before an offset; its ordinal, -1 if no record batches stand
   * there or it is not behind {@code behind}.
   */
  private int seekRecords(long offset, int end, int behind) throws IOException {
    int at = segment.index().floor(IndexEntry.OFFSET_FIELD, offset);
    IndexEntry entry = at < 0 ? null : segment.index().entry(at);
    if (entry == null
        || !entry.isRecords()
        || entry.position() >= end
        || entry.position() <= behind) {
      return -1;
    }
    position = entry.position();
    regionStart = position;
    index = entry.index();
    nextOffset = entry.offset();
    return at;
  }

  /** Goes on to the batch that holds an offset. */
  private void skipTo(long offset, int end) throws IOException {
    if (nextOffset < offset) {
      HeaderWalk walk = walk(end, false);
      while (walk.next() && walk.nextOffset() <= offset) {
        // Batches before the one asked for.
      }
      position = walk.position();
      index = walk.index();
      nextOffset = walk.offset();
      regionStart = position;
    }
    if (baseOffset < 0) {
      baseOffset = nextOffset;
    }
  }

  private HeaderWalk walk(int end, boolean trusted) {
    return new HeaderWalk(segment, file, position, end, index, nextOffset, trusted);
  }

  /**
   * Adds record batches up to the next control batch or limit; the ordinal of the entry where
   * records go on behind the control batches, -1 if the segment ends.
   */
  private int addRun(int fromEntry, int end, long segmentEndOffset) throws IOException {
    int at = fromEntry;
    while (true) {
      List<IndexEntry> entries = segment.index().entries(at, ENTRIES_AT_ONCE);
      for (IndexEntry entry : entries) {
        if (entry.position() >= end) {
          addUpTo(end, segmentEndOffset, 0);
          return -1;
        }
        addUpTo(entry.position(), entry.offset(), entry.index());
        if (full) {
          return -1;
        }
        if (!entry.isRecords()) {
          closeRegion();
          return full ? -1 : seekRecords(entry.offset(), end, entry.position());
        }
      }
      if (entries.isEmpty()) {
        addUpTo(end, segmentEndOffset, 0);
        return -1;
      }
      at += entries.size();
    }
  }

  /** Adds the record batches up to a boundary, as many as the limits allow. */
  private void addUpTo(int boundary, long boundaryOffset, long boundaryIndex) throws IOException {
    if (boundaryOffset <= endOffset && (long) bytes + boundary - position <= maxBytes) {
      bytes += boundary - position;
      position = boundary;
      nextOffset = boundaryOffset;
      index = boundaryIndex;
    } else {
      HeaderWalk walk = walk(boundary, true);
      while (walk.next()
          && walk.nextOffset() <= endOffset
          && (bytes == 0 || (long) bytes + walk.size() <= maxBytes)) {
        bytes += walk.size();
        position += walk.size();
        nextOffset = walk.nextOffset();
      }
      full = true;
    }
    full |= bytes >= maxBytes || nextOffset >= endOffset;
  }

  private void closeRegion() {
    if (position > regionStart) {
      regions.add(new FileRegion(file, regionStart, position - regionStart));
      regionStart = position;
      full |= regions.size() >= MAX_REGIONS;
    }
  }
}
