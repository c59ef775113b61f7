package io.millrace.broker.log;

import java.nio.ByteBuffer;

/** Sees the control batches of a log, in order. */
@FunctionalInterface
public interface ControlVisitor {

  /**
   * @param batch a whole batch with the base offset and term it is stored with; the visitor's own
   */
  void visit(long index, long term, ByteBuffer batch);
}
