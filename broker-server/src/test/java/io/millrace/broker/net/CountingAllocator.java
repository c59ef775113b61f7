package io.millrace.broker.net;

import io.netty.buffer.AbstractByteBufAllocator;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.util.concurrent.atomic.AtomicLong;

/** Counts all bytes that were ever asked for, and those that were not given back. */
final class CountingAllocator extends AbstractByteBufAllocator {

  private final UnpooledByteBufAllocator real = new UnpooledByteBufAllocator(true, true);
  private final AtomicLong allocated = new AtomicLong();

  long allocated() {
    return allocated.get();
  }

  long used() {
    return real.metric().usedDirectMemory() + real.metric().usedHeapMemory();
  }

  @Override
  protected ByteBuf newHeapBuffer(int initialCapacity, int maxCapacity) {
    allocated.addAndGet(initialCapacity);
    return real.heapBuffer(initialCapacity, maxCapacity);
  }

  @Override
  protected ByteBuf newDirectBuffer(int initialCapacity, int maxCapacity) {
    allocated.addAndGet(initialCapacity);
    return real.directBuffer(initialCapacity, maxCapacity);
  }

  @Override
  public boolean isDirectBufferPooled() {
    return false;
  }
}
