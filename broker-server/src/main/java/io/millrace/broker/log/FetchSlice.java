package io.millrace.broker.log;

import java.util.List;

/**
 * Whole record batches in the order of their offsets, as regions of segment files.
 *
 * <p>Owns: references that keep the files open. Threads: one at a time; {@link #release} exactly
 * once, by whoever sends it.
 */
public final class FetchSlice {

  private final List<FileRegion> regions;
  private final List<FileHandles.Handle> handles;
  private final int bytes;
  private final long baseOffset;
  private final long nextOffset;
  private final int lastTerm;
  private boolean released;

  FetchSlice(
      List<FileRegion> regions,
      List<FileHandles.Handle> handles,
      int bytes,
      long baseOffset,
      long nextOffset,
      int lastTerm) {
    this.regions = List.copyOf(regions);
    this.handles = handles;
    this.bytes = bytes;
    this.baseOffset = baseOffset;
    this.nextOffset = nextOffset;
    this.lastTerm = lastTerm;
  }

  static FetchSlice empty(long offset) {
    return new FetchSlice(List.of(), List.of(), 0, offset, offset, 0);
  }

  public List<FileRegion> regions() {
    return regions;
  }

  public int bytes() {
    return bytes;
  }

  public boolean isEmpty() {
    return bytes == 0;
  }

  /** Of the first batch, which may begin before the offset that was asked for. */
  public long baseOffset() {
    return baseOffset;
  }

  /** Behind the last batch; the offset that was asked for if there is none. */
  public long nextOffset() {
    return nextOffset;
  }

  /** Term of the last batch, 0 if there is none. */
  public int lastTerm() {
    return lastTerm;
  }

  public void release() {
    if (released) {
      throw new IllegalStateException("the slice at offset " + baseOffset + " is released twice");
    }
    released = true;
    handles.forEach(FileHandles.Handle::giveBack);
  }
}
