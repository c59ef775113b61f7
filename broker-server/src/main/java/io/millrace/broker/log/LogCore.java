package io.millrace.broker.log;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/**
 * What the parts of one log share.
 *
 * <p>Threads: the writer publishes views; anybody reads them. {@link #structure} is held shared
 * while a view is read from, and alone for the moment in which entries disappear; never during an
 * fsync. Where several locks are taken, the order is writer, sync, structure.
 */
final class LogCore {

  /** Closed segments that stay open for the next reader. */
  private static final int MAX_IDLE_FILES = 4;

  private final Disk disk;
  private final Path directory;
  private final LogIdentity identity;
  private volatile LogConfig config;
  private final LogListener listener;
  private final FileHandles handles;
  private final ReentrantReadWriteLock structure = new ReentrantReadWriteLock();
  private volatile LogView view;
  private volatile LogFailedException failure;
  private volatile boolean writtenInDoubt;
  private volatile boolean directoryDirty;
  private volatile boolean closed;

  LogCore(Disk disk, Path directory, LogIdentity identity, LogConfig config, LogListener listener) {
    this.disk = disk;
    this.directory = directory;
    this.identity = identity;
    this.config = config;
    this.listener = listener;
    this.handles = new FileHandles(disk, MAX_IDLE_FILES);
  }

  Disk disk() {
    return disk;
  }

  Path directory() {
    return directory;
  }

  LogIdentity identity() {
    return identity;
  }

  LogConfig config() {
    return config;
  }

  /** The writer looks at the size and age of segments in front of each batch. */
  void segments(long bytes, long millis) {
    config = new LogConfig(config.fsync(), config.fsyncIntervalMillis(), bytes, millis);
  }

  LogListener listener() {
    return listener;
  }

  FileHandles handles() {
    return handles;
  }

  ReentrantReadWriteLock structure() {
    return structure;
  }

  LogView view() {
    return view;
  }

  void publish(LogView newView) {
    view = newView;
  }

  LogFailedException failure() {
    return failure;
  }

  void checkUsable() throws LogFailedException {
    LogFailedException first = failure;
    if (first != null) {
      throw new LogFailedException(first.getMessage(), first);
    }
  }

  /** Whether a failed fsync or removal leaves open what of the written bytes is on the device. */
  boolean isWrittenInDoubt() {
    return writtenInDoubt;
  }

  /** Ends all writing. Only the first failure counts and is told. */
  LogFailedException fail(String what, Throwable cause) {
    writtenInDoubt = true;
    return end(what, cause);
  }

  /** As {@link #fail}, but all that was written before is as good as it was. */
  LogFailedException appendFailed(Throwable cause) {
    return end("append", cause);
  }

  private LogFailedException end(String what, Throwable cause) {
    LogFailedException mine =
        new LogFailedException(
            directory + ": " + what + " failed, the log takes no more writes: " + cause, cause);
    synchronized (this) {
      if (failure != null) {
        return mine;
      }
      failure = mine;
    }
    listener.failed(mine.getMessage(), cause);
    return mine;
  }

  boolean isClosed() {
    return closed;
  }

  /** Closes the files. The caller holds all locks, or is the only one who knows of this log. */
  void close() {
    closed = true;
    handles.abandon();
  }

  boolean isDirectoryDirty() {
    return directoryDirty;
  }

  /** Names may have been created or removed without being synced. */
  void directoryChanged() {
    directoryDirty = true;
  }

  void syncDirectory() throws IOException {
    if (directoryDirty) {
      directoryDirty = false;
      disk.syncDirectory(directory);
    }
  }

  /** Creates a segment with its head and an empty index. Nothing of it is on the device yet. */
  Segment createSegment(SegmentName name, long logTime) throws IOException {
    Segment segment = Segment.active(handles, directory, name);
    DiskFile file = segment.log().acquire();
    try {
      directoryDirty = true;
      file.truncate(0);
      ByteBuffer head = new SegmentHead(identity, name, logTime).encode();
      segment.headBytes(head.remaining());
      file.write(head, 0);
      segment.replaceIndex(SegmentIndex.create(segment, handles.of(name.index(directory))));
      return segment;
    } finally {
      segment.log().release();
    }
  }
}
