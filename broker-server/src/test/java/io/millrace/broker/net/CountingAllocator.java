package io.millrace.broker.net;

import io.netty.buffer.AbstractByteBufAllocator;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Counts all bytes that were ever asked for, those that are not given back, and the most that these
 * ever were.
 */
final class CountingAllocator extends AbstractByteBufAllocator {

  private final UnpooledByteBufAllocator real = new UnpooledByteBufAllocator(true, true);
  private final AtomicLong allocated = new AtomicLong();
  private final AtomicLong peak = new AtomicLong();

  long allocated() {
    return allocated.get();
  }

  long peak() {
    return peak.get();
  }

  long used() {
    return real.metric().usedDirectMemory() + real.metric().usedHeapMemory();
  }

  @Override
  protected ByteBuf newHeapBuffer(int initialCapacity, int maxCapacity) {
    return counted(real.heapBuffer(initialCapacity, maxCapacity));
  }

  @Override
  protected ByteBuf newDirectBuffer(int initialCapacity, int maxCapacity) {
    return counted(real.directBuffer(initialCapacity, maxCapacity));
  }

  private ByteBuf counted(ByteBuf made) {
    allocated.addAndGet(made.capacity());
    peak.accumulateAndGet(used(), Math::max);
    return made;
  }

  @Override
  public boolean isDirectBufferPooled() {
    return false;
  }
}
