package io.millrace.broker;

/** A data directory that is not used, with one line for people saying why and what to do. */
public final class DataDirectoryException extends RuntimeException {

  private static final long serialVersionUID = 1L;

  public DataDirectoryException(String message) {
    super(message);
  }

  public DataDirectoryException(String message, Throwable cause) {
    super(message, cause);
  }
}
