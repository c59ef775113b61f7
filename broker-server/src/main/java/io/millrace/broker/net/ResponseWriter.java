package io.millrace.broker.net;

import io.millrace.broker.log.DiskFile;
import io.millrace.broker.log.FetchSlice;
import io.millrace.broker.log.FileRegion;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.handler.ssl.SslHandler;
import java.io.EOFException;
import java.io.IOException;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Brings the responses of one connection to its socket.
 *
 * <p>Owns: the responses that were given and are not written: their buffers and slices. The queue
 * is bounded by the connection's limit on unanswered requests. Responses that are ready together
 * leave with one flush.
 *
 * <p>Threads: {@link #send} any; everything else the event loop of the channel.
 *
 * <p>Errors: a response that cannot be written is released, its slices too, and the channel closes.
 */
final class ResponseWriter {

  /** Below this one read and one gathering write beat a separate sendfile. */
  static final int COPY_BYTES = 16 * 1024;

  /** What the writer tells its connection, on the event loop. */
  interface Listener {
    /** A response went to the channel; its request is answered. */
    void answered();

    /** The pending bytes changed. */
    void pendingChanged();

    /** The last response is written; the connection is to be closed. */
    void closeAfterLast(CloseReason reason);

    /** A response could not be written. */
    void writeFailed(Throwable cause);
  }

  private final Channel channel;
  private final NetworkBudget budget;
  private final NetworkCounters counters;
  private final Listener listener;
  private final Queue<Outgoing> queue = new ConcurrentLinkedQueue<>();
  private final AtomicBoolean scheduled = new AtomicBoolean();
  private final AtomicLong pendingBytes = new AtomicLong();
  private volatile long progressNanos = System.nanoTime();
  private boolean held;

  ResponseWriter(
      Channel channel, NetworkBudget budget, NetworkCounters counters, Listener listener) {
    this.channel = channel;
    this.budget = budget;
    this.counters = counters;
    this.listener = listener;
  }

  /** Takes over the response. */
  void send(Outgoing response) {
    budget.charge(response.bytes());
    if (pendingBytes.getAndAdd(response.bytes()) == 0) {
      progressNanos = System.nanoTime();
    }
    queue.add(response);
    schedule();
  }

  /** Bytes given and not taken by the socket. */
  long pendingBytes() {
    return pendingBytes.get();
  }

  /** When the socket last took something, or when there was last nothing to take. */
  long progressNanos() {
    return progressNanos;
  }

  /** Keeps responses back until {@link #resume}. */
  void hold() {
    held = true;
  }

  void resume() {
    held = false;
    schedule();
  }

  private void schedule() {
    if (scheduled.compareAndSet(false, true)) {
      runOnEventLoop();
    }
  }

  private void runOnEventLoop() {
    try {
      channel.eventLoop().execute(this::drain);
    } catch (RejectedExecutionException stopped) {
      // The event loops are gone, and the channel with them.
      discardAll();
    }
  }

  private void drain() {
    if (!channel.eventLoop().inEventLoop()) {
      runOnEventLoop(); // The connection moved between scheduling and running.
      return;
    }
    scheduled.set(false);
    if (held && channel.isOpen()) {
      return;
    }
    if (!channel.isActive()) {
      discardAll();
      return;
    }
    boolean wrote = false;
    for (Outgoing next = queue.poll(); next != null; next = queue.poll()) {
      write(next);
      listener.answered();
      wrote = true;
    }
    if (wrote) {
      channel.flush();
    }
    listener.pendingChanged();
  }

  private void write(Outgoing response) {
    ChannelFuture last = channel.write(response.head());
    long sliceBytes = Outgoing.bytesOf(response.slices());
    if (sliceBytes > 0) {
      try {
        last = canTransfer(response, sliceBytes) ? transfer(response) : copy(response, sliceBytes);
      } catch (IOException | RuntimeException unreadable) {
        // The frame's length is on its way already: only closing keeps the client from misreading.
        finished(response, unreadable);
        return;
      }
    }
    last.addListener(written -> finished(response, written.cause()));
  }

  private boolean canTransfer(Outgoing response, long sliceBytes) {
    // TLS encrypts bytes in memory; it cannot take them from a file.
    if (sliceBytes <= COPY_BYTES || channel.pipeline().get(SslHandler.class) != null) {
      return false;
    }
    for (FetchSlice slice : response.slices()) {
      for (FileRegion region : slice.regions()) {
        if (region.file().channelOrNull() == null) {
          return false;
        }
      }
    }
    return true;
  }

  private ChannelFuture transfer(Outgoing response) {
    ChannelFuture last = null;
    for (FetchSlice slice : response.slices()) {
      for (FileRegion region : slice.regions()) {
        last =
            channel.write(
                new SliceRegion(
                    region.file(), region.position(), region.length(), this::noteProgress));
      }
    }
    counters.fileBytesOut.add(Outgoing.bytesOf(response.slices()));
    return last;
  }

  private ChannelFuture copy(Outgoing response, long sliceBytes) throws IOException {
    ByteBuf copy = channel.alloc().ioBuffer(Math.toIntExact(sliceBytes));
    try {
      for (FetchSlice slice : response.slices()) {
        for (FileRegion region : slice.regions()) {
          readInto(copy, region.file(), region.position(), region.length());
        }
      }
    } catch (IOException | RuntimeException unreadable) {
      copy.release();
      throw unreadable;
    }
    return channel.write(copy);
  }

  private static void readInto(ByteBuf target, DiskFile file, long position, int length)
      throws IOException {
    int done = 0;
    while (done < length) {
      int read = file.read(target.nioBuffer(target.writerIndex(), length - done), position + done);
      if (read <= 0) {
        throw new EOFException(
            "file ends at " + file.size() + ", a response needs it up to " + (position + length));
      }
      target.writerIndex(target.writerIndex() + read);
      done += read;
    }
  }

  private void finished(Outgoing response, Throwable failureOrNull) {
    response.release().run();
    settle(response);
    if (failureOrNull != null) {
      listener.writeFailed(failureOrNull);
      return;
    }
    counters.bytesOut.add(response.bytes());
    if (response.closeReasonOrNull() != null) {
      listener.closeAfterLast(response.closeReasonOrNull());
    }
    listener.pendingChanged();
  }

  private void discardAll() {
    scheduled.set(false);
    for (Outgoing next = queue.poll(); next != null; next = queue.poll()) {
      next.discard();
      settle(next);
    }
  }

  private void settle(Outgoing response) {
    pendingBytes.addAndGet(-response.bytes());
    budget.release(response.bytes());
    noteProgress();
  }

  private void noteProgress() {
    progressNanos = System.nanoTime();
  }
}
