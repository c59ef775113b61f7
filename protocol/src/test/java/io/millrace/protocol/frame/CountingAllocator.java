package io.millrace.protocol.frame;

import io.netty.buffer.AbstractByteBufAllocator;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.util.ArrayList;
import java.util.List;

/** Remembers every buffer, so that a test can see how much was taken and that all came back. */
final class CountingAllocator extends AbstractByteBufAllocator {

  private final List<ByteBuf> buffers = new ArrayList<>();
  private int largestRequest;

  CountingAllocator() {
    super(false);
  }

  List<ByteBuf> buffers() {
    return buffers;
  }

  int largestRequest() {
    return largestRequest;
  }

  @Override
  protected ByteBuf newHeapBuffer(int initialCapacity, int maxCapacity) {
    ByteBuf buffer = UnpooledByteBufAllocator.DEFAULT.heapBuffer(initialCapacity, maxCapacity);
    largestRequest = Math.max(largestRequest, initialCapacity);
    buffers.add(buffer);
    return buffer;
  }

  @Override
  protected ByteBuf newDirectBuffer(int initialCapacity, int maxCapacity) {
    return newHeapBuffer(initialCapacity, maxCapacity);
  }

  @Override
  public boolean isDirectBufferPooled() {
    return false;
  }
}
