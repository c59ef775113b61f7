package com.alipay.sofa.jraft.util;

import io.millrace.broker.raft.threads.InPlaceOfJRaft;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Millrace's class under JRaft's name. As JRaft's, except that it refuses the one thread per group
 * that would wake several times a second for nothing: it looks for finished ReadIndex requests, of
 * which there are none, and which are told of each applied entry anyway.
 */
public final class NamedThreadFactory implements ThreadFactory, InPlaceOfJRaft {

  private static final Logger LOG = LoggerFactory.getLogger(NamedThreadFactory.class);

  private static final String READ_INDEX_SCANNER = "ReadOnlyService-PendingNotify-Scanner";

  private final String prefix;
  private final boolean daemon;
  private final AtomicInteger count = new AtomicInteger();

  public NamedThreadFactory(String prefix) {
    this(prefix, false);
  }

  public NamedThreadFactory(String prefix, boolean daemon) {
    this.prefix = prefix;
    this.daemon = daemon;
  }

  public String prefix() {
    return prefix;
  }

  /** Null = refused, which executors accept: their tasks then never run. */
  @Override
  public Thread newThread(Runnable work) {
    if (prefix.equals(READ_INDEX_SCANNER)) {
      return null;
    }
    Thread thread = new Thread(work, prefix + count.getAndIncrement());
    thread.setDaemon(daemon);
    thread.setUncaughtExceptionHandler(
        (failed, cause) -> LOG.error("thread {} failed", failed.getName(), cause));
    return thread;
  }
}
