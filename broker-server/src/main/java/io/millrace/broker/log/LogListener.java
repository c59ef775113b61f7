package io.millrace.broker.log;

import java.io.IOException;
import java.nio.ByteBuffer;

/** What a log tells its owner, and the two things it has to ask. */
public interface LogListener {

  /** The log takes no more writes; reads go on. Called once, on the thread that failed. */
  void failed(String reason, Throwable cause);

  /**
   * Entries above the mark are about to be removed. When this returns, no sync mark above it may be
   * found in durable storage after a crash: a later start would take the missing entries for
   * damage. Called on the writer's thread, before anything is changed.
   */
  void lowerDurableMark(SyncMark mark) throws IOException;

  /** A segment was closed; a good moment to store the sync mark. Called on the writer's thread. */
  default void rolled() {}

  /** The log time in milliseconds that a TIME batch carries. Called on the writer's thread. */
  default long logTimeOf(ByteBuffer timeBatch) {
    return -1;
  }

  /** For a log whose owner keeps no durable mark. */
  LogListener NONE =
      new LogListener() {
        @Override
        public void failed(String reason, Throwable cause) {}

        @Override
        public void lowerDurableMark(SyncMark mark) {}
      };
}
