package io.millrace.broker.net;

import io.millrace.broker.log.DiskFile;
import io.netty.channel.FileRegion;
import io.netty.util.AbstractReferenceCounted;
import java.io.EOFException;
import java.io.IOException;
import java.nio.channels.WritableByteChannel;

/**
 * A range of a segment file on its way to a socket, without a copy where the system allows it.
 *
 * <p>Owns: nothing. The file is kept open by the slice that the range came from, which is released
 * after the write; Netty's DefaultFileRegion would close the file, which others read.
 *
 * <p>Threads: the event loop of the connection.
 */
final class SliceRegion extends AbstractReferenceCounted implements FileRegion {

  private final DiskFile file;
  private final long start;
  private final long count;
  private final Runnable onProgress;
  private long transferred;

  SliceRegion(DiskFile file, long start, long count, Runnable onProgress) {
    this.file = file;
    this.start = start;
    this.count = count;
    this.onProgress = onProgress;
  }

  @Override
  public long transferTo(WritableByteChannel target, long position) throws IOException {
    long rest = count - position;
    if (rest <= 0) {
      return 0;
    }
    long written = file.transferTo(start + position, rest, target);
    if (written > 0) {
      transferred += written;
      onProgress.run();
    } else if (file.size() < start + count) {
      // Without this the write would be tried for ever; the length of the frame is already sent.
      throw new EOFException(
          "file ends at " + file.size() + ", a response needs it up to " + (start + count));
    }
    return written;
  }

  @Override
  public long position() {
    return start;
  }

  @Override
  public long transferred() {
    return transferred;
  }

  @Override
  @Deprecated
  public long transfered() {
    return transferred;
  }

  @Override
  public long count() {
    return count;
  }

  @Override
  public FileRegion touch() {
    return this;
  }

  @Override
  public FileRegion touch(Object hint) {
    return this;
  }

  @Override
  public FileRegion retain() {
    super.retain();
    return this;
  }

  @Override
  public FileRegion retain(int increment) {
    super.retain(increment);
    return this;
  }

  @Override
  protected void deallocate() {
    // The slice is released by the completion of the write.
  }
}
