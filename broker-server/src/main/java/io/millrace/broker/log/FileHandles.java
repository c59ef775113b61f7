package io.millrace.broker.log;

import java.io.IOException;
import java.nio.channels.ClosedChannelException;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The open files of one log. A file is opened when somebody needs it, stays open while it is used,
 * and is among the {@code maxIdle} most recently used ones kept open after that.
 *
 * <p>Threads: any; the lock is held while a file is opened or closed, never during other I/O.
 */
final class FileHandles {

  private static final Logger LOG = LoggerFactory.getLogger(FileHandles.class);

  private final Disk disk;
  private final int maxIdle;
  private final Set<Handle> idle = new LinkedHashSet<>();
  private final Set<Handle> openHandles = new HashSet<>();
  private boolean closed;

  FileHandles(Disk disk, int maxIdle) {
    this.disk = disk;
    this.maxIdle = maxIdle;
  }

  Handle of(Path path) {
    return new Handle(path);
  }

  /** Opens nothing any more and closes everything but what is lent, which ends with its return. */
  synchronized void abandon() {
    closed = true;
    idle.clear();
    for (Handle handle : List.copyOf(openHandles)) {
      handle.users = handle.lent;
      if (handle.lent == 0) {
        close(handle);
      }
    }
  }

  synchronized int openFiles() {
    return openHandles.size();
  }

  /** Opens the file if needed and keeps it open until as many releases. */
  private synchronized DiskFile acquire(Handle handle, boolean create) throws IOException {
    if (handle.file == null) {
      if (closed) {
        throw new ClosedChannelException();
      }
      handle.file = disk.open(handle.path, create);
      openHandles.add(handle);
    }
    idle.remove(handle);
    handle.users++;
    return handle.file;
  }

  private synchronized void release(Handle handle) {
    if (handle.users <= 0) {
      throw new IllegalStateException(handle.path + " is released more often than acquired");
    }
    if (--handle.users > 0) {
      return;
    }
    if (handle.retired || closed) {
      close(handle);
      return;
    }
    idle.add(handle);
    if (idle.size() > maxIdle) {
      Handle eldest = idle.iterator().next();
      idle.remove(eldest);
      close(eldest);
    }
  }

  private synchronized void retire(Handle handle) {
    handle.retired = true;
    idle.remove(handle);
    if (handle.users == 0) {
      close(handle);
    }
  }

  private void close(Handle handle) {
    DiskFile file = handle.file;
    handle.file = null;
    if (file == null) {
      return;
    }
    openHandles.remove(handle);
    try {
      file.close();
    } catch (IOException e) {
      // All that matters was synced before; a failed close loses only the descriptor.
      LOG.warn("{} was not closed properly", handle.path, e);
    }
  }

  /** One file, open or not. */
  final class Handle {

    private final Path path;
    private DiskFile file;
    private int users;
    private int lent;
    private boolean retired;

    private Handle(Path path) {
      this.path = path;
    }

    Path path() {
      return path;
    }

    DiskFile acquire() throws IOException {
      return FileHandles.this.acquire(this, false);
    }

    DiskFile acquireOrCreate() throws IOException {
      return FileHandles.this.acquire(this, true);
    }

    void release() {
      FileHandles.this.release(this);
    }

    boolean isInUse() {
      synchronized (FileHandles.this) {
        return users > 0;
      }
    }

    /** As {@link #acquire}, for a user who may keep it longer than the log is open. */
    DiskFile lend() throws IOException {
      synchronized (FileHandles.this) {
        DiskFile lentFile = acquire();
        lent++;
        return lentFile;
      }
    }

    void giveBack() {
      synchronized (FileHandles.this) {
        lent--;
        release();
      }
    }

    /** Closes the file when its last user is done; it can be opened again after that. */
    void retire() {
      FileHandles.this.retire(this);
    }
  }
}
