package io.millrace.broker.log;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.WritableByteChannel;

/** A file that is only read, at the pace of a {@link Pacer}. */
record PacedFile(DiskFile file, Pacer pacer) implements DiskFile {

  @Override
  public long size() throws IOException {
    return file.size();
  }

  @Override
  public int read(ByteBuffer target, long position) throws IOException {
    pacer.beforeRead(target.remaining());
    return file.read(target, position);
  }

  @Override
  public void write(ByteBuffer source, long position) {
    throw new UnsupportedOperationException("only read here");
  }

  @Override
  public void sync() {
    throw new UnsupportedOperationException("only read here");
  }

  @Override
  public void truncate(long size) {
    throw new UnsupportedOperationException("only read here");
  }

  @Override
  public long transferTo(long position, long count, WritableByteChannel target) {
    throw new UnsupportedOperationException("only read here");
  }

  @Override
  public FileChannel channelOrNull() {
    return null;
  }

  @Override
  public void close() throws IOException {
    file.close();
  }
}
