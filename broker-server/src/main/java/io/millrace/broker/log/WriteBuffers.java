package io.millrace.broker.log;

import java.nio.ByteBuffer;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Semaphore;

/**
 * Direct buffers in which appends are gathered.
 *
 * <p>Owns: at most {@code count} buffers, made when first needed and kept. Threads: any; a thread
 * waits while all are taken. They are held for a copy and a write, never for an fsync.
 */
public final class WriteBuffers {

  public static final int DEFAULT_COUNT = 16;

  /** Large enough for few calls, small enough to stay in a processor's cache. */
  public static final int DEFAULT_BYTES = 256 * 1024;

  private final Semaphore free;
  private final int bufferBytes;
  private final ConcurrentLinkedQueue<ByteBuffer> idle = new ConcurrentLinkedQueue<>();

  public WriteBuffers(int count, int bufferBytes) {
    this.free = new Semaphore(count, true);
    this.bufferBytes = bufferBytes;
  }

  ByteBuffer acquire() {
    free.acquireUninterruptibly();
    ByteBuffer buffer = idle.poll();
    return buffer != null ? buffer.clear() : ByteBuffer.allocateDirect(bufferBytes);
  }

  void release(ByteBuffer buffer) {
    idle.add(buffer);
    free.release();
  }
}
