package io.millrace.broker;

import io.millrace.broker.BrokerConfig.Effective;
import io.millrace.broker.BrokerConfig.Origin;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Typed access to the properties of a configuration file: refuses unknown keys, reads numbers,
 * sizes and addresses, and notes each value with its origin. Whether a value is sensible is checked
 * by the records that take it. Errors: {@link IllegalArgumentException} with the key and the value.
 */
final class ConfigValues {

  private final Properties properties;
  private final Map<ConfigKey, Effective> effective = new EnumMap<>(ConfigKey.class);

  ConfigValues(Properties properties) {
    this.properties = properties;
    for (String name : new TreeSet<>(properties.stringPropertyNames())) {
      if (ConfigKey.find(name).isEmpty()) {
        throw new IllegalArgumentException(
            "unknown key \""
                + name
                + "\" (value \""
                + properties.getProperty(name)
                + "\"); did you mean \""
                + ConfigKey.nearest(name).key()
                + "\"?");
      }
    }
  }

  Map<ConfigKey, Effective> effective() {
    return effective;
  }

  /** A required text. */
  String text(ConfigKey key) {
    String value = raw(key);
    if (value == null) {
      throw new IllegalArgumentException(key.key() + " is missing. " + key.text());
    }
    effective.put(key, new Effective(value, Origin.FILE));
    return value;
  }

  /** A text that may be absent; empty then. */
  String optionalText(ConfigKey key) {
    String value = orNote(key, "");
    return value == null ? "" : value;
  }

  int integer(ConfigKey key, int fallback) {
    String value = orNote(key, Integer.toString(fallback));
    if (value == null) {
      return fallback;
    }
    try {
      return Integer.parseInt(value);
    } catch (NumberFormatException notANumber) {
      throw new IllegalArgumentException(
          key.key()
              + " = "
              + value
              + " is not a whole number in "
              + Integer.MIN_VALUE
              + ".."
              + Integer.MAX_VALUE,
          notANumber);
    }
  }

  boolean flag(ConfigKey key, boolean fallback) {
    String value = orNote(key, Boolean.toString(fallback));
    if (value == null) {
      return fallback;
    }
    return switch (value) {
      case "true" -> true;
      case "false" -> false;
      default ->
          throw new IllegalArgumentException(key.key() + " = " + value + " is not true or false");
    };
  }

  /** A size: a number of bytes, or one followed by KiB, MiB or GiB. */
  long bytes(ConfigKey key, long fallback) {
    String value = orNote(key, Long.toString(fallback));
    if (value == null) {
      return fallback;
    }
    String number = value;
    int shift = 0;
    String lower = value.toLowerCase(Locale.ROOT);
    if (lower.endsWith("kib")) {
      shift = 10;
    } else if (lower.endsWith("mib")) {
      shift = 20;
    } else if (lower.endsWith("gib")) {
      shift = 30;
    }
    if (shift > 0) {
      number = value.substring(0, value.length() - 3).trim();
    }
    try {
      return Math.multiplyExact(Long.parseLong(number), 1L << shift);
    } catch (NumberFormatException | ArithmeticException notASize) {
      throw new IllegalArgumentException(
          key.key()
              + " = "
              + value
              + " is not a size; write bytes, or a whole number with KiB, MiB or GiB",
          notASize);
    }
  }

  HostPort address(ConfigKey key, HostPort fallbackOrNull) {
    String value;
    if (fallbackOrNull == null) {
      value = text(key);
    } else {
      value = orNote(key, fallbackOrNull.toString());
      if (value == null) {
        return fallbackOrNull;
      }
    }
    try {
      return HostPort.parse(value);
    } catch (IllegalArgumentException wrong) {
      throw new IllegalArgumentException(key.key() + ": " + wrong.getMessage(), wrong);
    }
  }

  /** {@code id@host:port,id@host:port}. */
  SortedMap<Integer, HostPort> brokers(ConfigKey key) {
    SortedMap<Integer, HostPort> brokers = new TreeMap<>();
    for (String part : text(key).split(",", -1)) {
      String entry = part.trim();
      int at = entry.indexOf('@');
      int id;
      HostPort address;
      try {
        id = Integer.parseInt(entry.substring(0, Math.max(at, 0)));
        address = HostPort.parse(entry.substring(at + 1));
      } catch (IllegalArgumentException wrong) {
        throw new IllegalArgumentException(
            key.key()
                + " has \""
                + entry
                + "\"; write id@host:port, for example 1@127.0.0.1:7171,2@127.0.0.1:7172",
            wrong);
      }
      HostPort other = brokers.put(id, address);
      if (other != null) {
        throw new IllegalArgumentException(
            key.key() + " names broker " + id + " twice: " + other + " and " + address);
      }
    }
    return brokers;
  }

  /** The value of the file, or null after noting the default. */
  private String orNote(ConfigKey key, String fallback) {
    String value = raw(key);
    effective.put(
        key,
        value == null
            ? new Effective(fallback, Origin.DEFAULT)
            : new Effective(value, Origin.FILE));
    if (value == null && key.required()) {
      throw new IllegalArgumentException(key.key() + " is missing. " + key.text());
    }
    return value;
  }

  private String raw(ConfigKey key) {
    String value = properties.getProperty(key.key());
    return value == null || value.isBlank() ? null : value.trim();
  }
}
