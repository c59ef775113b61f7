package io.millrace.broker.log;

import java.io.IOException;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Makes the log durable and knows how far it is.
 *
 * <p>Threads: any; one fsync at a time, for everything that is published when it begins. Whoever
 * removes entries holds {@link #lock} meanwhile. Durability: {@link #sync} returns when everything
 * published before is on the device: closed segments, names of new files, and the newest segment,
 * in this order. Errors: a failed fsync fails the log; the mark stays where it was, and the next
 * start cuts the log back to it.
 */
final class LogSyncer {

  private final LogCore core;
  private final ReentrantLock lock = new ReentrantLock();
  private volatile SyncMark mark;

  LogSyncer(LogCore core, SyncMark mark) {
    this.core = core;
    this.mark = mark;
  }

  ReentrantLock lock() {
    return lock;
  }

  SyncMark mark() {
    return mark;
  }

  /** For the holder of the lock, when entries are removed. */
  void lower(SyncMark lower) {
    mark = lower;
  }

  static SyncMark endOf(LogView view) {
    return new SyncMark(view.lastIndex(), view.active().name().firstIndex(), view.position());
  }

  boolean isDirty() {
    LogView view = core.view();
    return view.segments().length > 0 && (core.isDirectoryDirty() || !mark.equals(endOf(view)));
  }

  void sync() throws LogFailedException {
    lock.lock();
    try {
      core.checkUsable();
      // Closing has synced; a timer may still come late.
      if (!core.isClosed() && isDirty()) {
        syncAll();
      }
    } finally {
      lock.unlock();
    }
  }

  private void syncAll() throws LogFailedException {
    LogView view = core.view();
    Segment[] segments = view.segments();
    int newest = segments.length - 1;
    int first = newest;
    while (first > 0 && !segments[first - 1].isSynced()) {
      first--;
    }
    try {
      for (int i = first; i < newest; i++) {
        fsync(segments[i]);
        segments[i].markSynced();
      }
      core.syncDirectory();
      fsync(segments[newest]);
      mark = endOf(view);
      segments[newest].index().writeMark(view.lastIndex(), view.position(), view.chain());
    } catch (IOException e) {
      try {
        segments[newest].index().writeFailure(mark.index());
      } catch (IOException second) {
        e.addSuppressed(second);
      }
      throw core.fail("fsync", e);
    }
  }

  private static void fsync(Segment segment) throws IOException {
    DiskFile file = segment.log().acquire();
    try {
      file.sync();
    } finally {
      segment.log().release();
    }
  }
}
