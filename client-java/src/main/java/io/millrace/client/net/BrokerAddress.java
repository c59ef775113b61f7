package io.millrace.client.net;

import io.millrace.client.error.InvalidArgumentException;

/** Where a broker listens. */
public record BrokerAddress(String host, int port) {

  private static final int MAX_PORT = 65_535;

  /** Parses host:port or [ipv6]:port. */
  public static BrokerAddress parse(String text) {
    int colon = text == null ? -1 : text.lastIndexOf(':');
    if (colon <= 0) {
      throw new InvalidArgumentException(
          "the address '" + text + "' is not host:port; write for example localhost:19801");
    }
    String host = text.substring(0, colon).strip();
    String number = text.substring(colon + 1).strip();
    if (host.startsWith("[") && host.endsWith("]")) {
      host = host.substring(1, host.length() - 1);
    } else if (host.indexOf(':') >= 0) {
      throw new InvalidArgumentException(
          "the address '" + text + "' has several colons; write IPv6 as [address]:port");
    }
    if (host.isEmpty()) {
      throw new InvalidArgumentException(
          "the address '" + text + "' has no host; write for example localhost:19801");
    }
    int port;
    try {
      port = Integer.parseInt(number);
    } catch (NumberFormatException e) {
      throw new InvalidArgumentException(
          "the port '" + number + "' of '" + text + "' is no number; use 1 to " + MAX_PORT);
    }
    if (port < 1 || port > MAX_PORT) {
      throw new InvalidArgumentException(
          "the port " + port + " of '" + text + "' is out of range; use 1 to " + MAX_PORT);
    }
    return new BrokerAddress(host, port);
  }

  @Override
  public String toString() {
    return host.indexOf(':') >= 0 ? "[" + host + "]:" + port : host + ":" + port;
  }
}
