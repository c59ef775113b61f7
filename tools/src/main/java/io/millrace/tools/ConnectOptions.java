package io.millrace.tools;

import io.millrace.client.ClientConfig;
import io.millrace.client.MillraceClient;
import io.millrace.tools.local.ClusterHome;
import io.millrace.tools.local.LocalCluster;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import picocli.CommandLine.Option;

/** Where the brokers are: the options of every command that talks to them. */
public final class ConnectOptions {
  private static final String VARIABLE = "MILLRACE_BOOTSTRAP";
  private static final String CLIENT_ID = "millrace-tools";

  @Option(
      names = "--bootstrap",
      paramLabel = "HOST:PORT,...",
      description =
          "Brokers to ask first. Default: $MILLRACE_BOOTSTRAP, else the cluster of --home,"
              + " else 127.0.0.1:19801,127.0.0.1:19802,127.0.0.1:19803")
  private String bootstrap;

  @Option(
      names = "--request-timeout",
      paramLabel = "TIME",
      converter = Quantities.DurationConverter.class,
      description = "How long one request may take. Default: 30s")
  private Duration requestTimeout = Duration.ofSeconds(30);

  /**
   * Connects to the brokers that the options name and waits until one answers.
   *
   * @throws CommandFailure when none does
   */
  public MillraceClient connect(MillraceCommand root) {
    List<String> addresses = addresses(root);
    MillraceClient client = connect(addresses, requestTimeout);
    try {
      new FirstContact(addresses, requestTimeout, root.progress(), System::nanoTime)
          .await(client::awaitConnected, hint(root));
      return client;
    } catch (RuntimeException e) {
      client.close(0);
      throw e;
    }
  }

  /** Where the addresses are from, and what to do. */
  private String hint(MillraceCommand root) {
    if (bootstrap != null) {
      return "the addresses are those of --bootstrap";
    }
    if (isSet(variable(root))) {
      return "the addresses are those of " + VARIABLE;
    }
    ClusterHome home = root.home();
    return home.hasCluster()
        ? "this is the cluster of " + home.directory() + "; see: bin/millrace cluster status"
        : "no cluster is recorded in "
            + home.directory()
            + "; start one with: bin/millrace cluster up, or name another with --home or"
            + " --bootstrap";
  }

  private static String variable(MillraceCommand root) {
    return root.terminal().environment().get(VARIABLE);
  }

  private static boolean isSet(String variable) {
    return variable != null && !variable.isBlank();
  }

  public Duration requestTimeout() {
    return requestTimeout;
  }

  public static MillraceClient connect(List<String> addresses, Duration requestTimeout) {
    return MillraceClient.connect(
        new ClientConfig(addresses)
            .withClientId(CLIENT_ID)
            .withRequestTimeoutMillis(Math.toIntExact(requestTimeout.toMillis())));
  }

  List<String> addresses(MillraceCommand root) {
    if (bootstrap != null) {
      return parse(bootstrap, "--bootstrap");
    }
    String variable = variable(root);
    if (isSet(variable)) {
      return parse(variable, VARIABLE);
    }
    ClusterHome home = root.home();
    if (home.hasCluster()) {
      return LocalCluster.addresses(home);
    }
    return LocalCluster.DEFAULT_ADDRESSES;
  }

  static List<String> parse(String text, String where) {
    List<String> addresses =
        Arrays.stream(text.split(",")).map(String::strip).filter(each -> !each.isEmpty()).toList();
    if (addresses.isEmpty()) {
      throw new UsageFailure(where + " is empty; write host:port, several separated by commas");
    }
    for (String address : addresses) {
      int colon = address.lastIndexOf(':');
      String port = address.substring(colon + 1);
      if (colon < 1 || !port.matches("\\d{1,5}") || !isPort(Integer.parseInt(port))) {
        throw new UsageFailure(
            where + ": '" + address + "' is not host:port with a port from 1 to 65535");
      }
    }
    return addresses;
  }

  private static boolean isPort(int number) {
    return number >= 1 && number <= 65_535;
  }
}
