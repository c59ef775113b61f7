package io.millrace.broker.log;

import java.io.IOException;

/**
 * Asked before every read of a long walk: to keep it to so many bytes per second, to show how far
 * it is, or to end it by an exception.
 *
 * <p>Threads: that of the walk.
 */
@FunctionalInterface
public interface Pacer {

  Pacer NONE = bytes -> {};

  /**
   * @param bytes that are about to be read
   */
  void beforeRead(int bytes) throws IOException;
}
