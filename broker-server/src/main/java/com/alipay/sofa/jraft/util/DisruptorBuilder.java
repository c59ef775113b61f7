package com.alipay.sofa.jraft.util;

import com.lmax.disruptor.EventFactory;
import com.lmax.disruptor.WaitStrategy;
import com.lmax.disruptor.dsl.Disruptor;
import com.lmax.disruptor.dsl.ProducerType;
import io.millrace.broker.raft.threads.InPlaceOfJRaft;
import io.millrace.broker.raft.threads.PooledDisruptor;
import io.millrace.broker.raft.threads.RaftPools;
import java.util.concurrent.ThreadFactory;

/**
 * Millrace's class under JRaft's name, with the methods that JRaft calls: builds rings that have no
 * thread of their own, see {@link PooledDisruptor}. So JRaft's wait strategies have no use, and its
 * thread factories only tell which ring it is.
 */
public final class DisruptorBuilder<T> implements InPlaceOfJRaft {

  private EventFactory<T> events;
  private int ringSize;
  private ProducerType producers = ProducerType.MULTI;
  private String threadNamePrefix = "";

  private DisruptorBuilder() {}

  public static <T> DisruptorBuilder<T> newInstance() {
    return new DisruptorBuilder<>();
  }

  public DisruptorBuilder<T> setEventFactory(EventFactory<T> eventFactory) {
    events = eventFactory;
    return this;
  }

  public DisruptorBuilder<T> setRingBufferSize(int slots) {
    ringSize = slots;
    return this;
  }

  public DisruptorBuilder<T> setThreadFactory(ThreadFactory threadFactory) {
    if (threadFactory instanceof NamedThreadFactory named) {
      threadNamePrefix = named.prefix();
    }
    return this;
  }

  public DisruptorBuilder<T> setProducerType(ProducerType producerType) {
    producers = producerType;
    return this;
  }

  public DisruptorBuilder<T> setWaitStrategy(WaitStrategy unused) {
    return this;
  }

  public Disruptor<T> build() {
    RaftPools.Ring ring = RaftPools.ring(threadNamePrefix);
    return new PooledDisruptor<>(
        events, Math.min(ringSize, ring.maxSlots()), producers, ring.pool());
  }
}
