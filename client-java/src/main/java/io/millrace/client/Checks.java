package io.millrace.client;

import io.millrace.client.error.InvalidArgumentException;

/** Argument checks whose text names the value, the limit and what to do. */
public final class Checks {

  /** Longest topic name; the broker has the same limit. */
  public static final int MAX_TOPIC_NAME = 249;

  private Checks() {}

  public static void atLeast(String name, long value, long least) {
    if (value < least) {
      throw new InvalidArgumentException(
          name + " is " + value + "; set it to " + least + " or more");
    }
  }

  public static void between(String name, long value, long least, long most) {
    if (value < least || value > most) {
      throw new InvalidArgumentException(
          name + " is " + value + "; set it to a value from " + least + " to " + most);
    }
  }

  public static <T> T notNull(String name, T value) {
    if (value == null) {
      throw new InvalidArgumentException(name + " is null; give a value");
    }
    return value;
  }

  public static String topicName(String name) {
    if (name == null || name.isEmpty()) {
      throw new InvalidArgumentException("the topic name is empty; give a name");
    }
    if (name.length() > MAX_TOPIC_NAME) {
      throw new InvalidArgumentException(
          "the topic name has "
              + name.length()
              + " characters; shorten it to at most "
              + MAX_TOPIC_NAME);
    }
    for (int i = 0; i < name.length(); i++) {
      char c = name.charAt(i);
      boolean legal =
          c >= 'a' && c <= 'z'
              || c >= 'A' && c <= 'Z'
              || c >= '0' && c <= '9'
              || c == '.'
              || c == '_'
              || c == '-';
      if (!legal) {
        throw new InvalidArgumentException(
            "the topic name '"
                + name
                + "' holds '"
                + c
                + "' at position "
                + i
                + "; use only letters a-z, A-Z, digits, '.', '_' and '-'");
      }
    }
    if (name.equals(".") || name.equals("..")) {
      throw new InvalidArgumentException(
          "the topic name '" + name + "' is reserved; choose another");
    }
    return name;
  }
}
