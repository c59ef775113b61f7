package io.millrace.client.producer;

/** A batch that cannot be put together; says which, so that its futures can be failed. */
final class UnbuildableBatchException extends RuntimeException {

  private static final long serialVersionUID = 1L;

  private final transient ProducerBatch batch;

  UnbuildableBatchException(ProducerBatch batch, Throwable cause) {
    super(cause);
    this.batch = batch;
  }

  ProducerBatch batch() {
    return batch;
  }
}
