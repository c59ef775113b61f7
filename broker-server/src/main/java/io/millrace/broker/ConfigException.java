package io.millrace.broker;

/**
 * A configuration that the broker refuses to start with. The message is one line for people: key,
 * value, limit, what to do.
 */
public final class ConfigException extends RuntimeException {

  private static final long serialVersionUID = 1L;

  public ConfigException(String message) {
    super(message);
  }

  public ConfigException(String message, Throwable cause) {
    super(message, cause);
  }
}
