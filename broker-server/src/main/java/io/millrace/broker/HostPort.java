package io.millrace.broker;

import java.net.InetSocketAddress;

/**
 * An address as written in a configuration: {@code host:port}, IPv6 hosts in square brackets. The
 * host is not resolved here: a name may move to another machine while the broker runs.
 */
public record HostPort(String host, int port) {

  public HostPort {
    if (host == null || host.isBlank()) {
      throw new IllegalArgumentException("an address needs a host before the colon");
    }
    if (port < 0 || port > 65_535) {
      throw new IllegalArgumentException("port " + port + " is outside 0..65535");
    }
  }

  /** Parses {@code host:port}; the error names the text and the form that is expected. */
  public static HostPort parse(String text) {
    String trimmed = text.trim();
    int colon = trimmed.lastIndexOf(':');
    if (colon <= 0) {
      throw new IllegalArgumentException(
          "\"" + text + "\" is not an address; write host:port, for example 127.0.0.1:7171");
    }
    String host = trimmed.substring(0, colon);
    if (host.startsWith("[") && host.endsWith("]")) {
      host = host.substring(1, host.length() - 1);
    } else if (host.indexOf(':') >= 0) {
      throw new IllegalArgumentException(
          "\"" + text + "\" has several colons; write an IPv6 host in brackets, as in [::1]:7171");
    }
    String portText = trimmed.substring(colon + 1);
    int port;
    try {
      port = Integer.parseInt(portText);
    } catch (NumberFormatException notANumber) {
      throw new IllegalArgumentException(
          "\"" + text + "\" has the port \"" + portText + "\"; a port is a number in 0..65535",
          notANumber);
    }
    return new HostPort(host, port);
  }

  /** True for the addresses that mean "every interface": nobody can connect to them. */
  public boolean isWildcard() {
    return host.equals("0.0.0.0") || host.equals("::") || host.equals("*");
  }

  public HostPort withPort(int newPort) {
    return new HostPort(host, newPort);
  }

  /** For binding and connecting; resolves the host. */
  public InetSocketAddress resolve() {
    return host.equals("*") ? new InetSocketAddress(port) : new InetSocketAddress(host, port);
  }

  @Override
  public String toString() {
    return (host.indexOf(':') >= 0 ? "[" + host + "]" : host) + ":" + port;
  }
}
