package io.millrace.tools.local;

import io.millrace.client.Admin;
import io.millrace.client.MillraceClient;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.error.MillraceException;
import io.millrace.protocol.message.PeerFaults;
import io.millrace.tools.Calls;
import io.millrace.tools.CommandFailure;
import io.millrace.tools.ConnectOptions;
import io.millrace.tools.Words;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Tells the brokers of a local cluster which faults to make in their network.
 *
 * <p>Errors: before anything is changed every broker concerned is asked what it has now, so that
 * most of what can be in the way shows while nothing is changed. A failure after that names the
 * broker and the state of the others.
 */
final class ClusterFaults {
  private static final Duration REQUEST_LIMIT = Duration.ofSeconds(5);

  private final LocalCluster cluster;

  ClusterFaults(LocalCluster cluster) {
    this.cluster = cluster;
  }

  /** Adds the plan's faults to those in force. */
  void add(FaultPlan plan) throws IOException, InterruptedException {
    for (int broker : plan.perBroker().keySet()) {
      String obstacle = obstacle(broker);
      if (obstacle != null) {
        throw new CommandFailure(
            "broker " + broker + " can not be told: " + obstacle + "; nothing was changed");
      }
    }
    try (MillraceClient client = ConnectOptions.connect(runningAddresses(), REQUEST_LIMIT)) {
      SortedMap<Integer, List<PeerFaults>> wanted = withCurrent(client.admin(), plan);
      var told = new ArrayList<Integer>();
      for (Map.Entry<Integer, List<PeerFaults>> broker : wanted.entrySet()) {
        try {
          Calls.await(
              client.admin().setNetworkFaults(broker.getKey(), broker.getValue()), REQUEST_LIMIT);
          told.add(broker.getKey());
        } catch (MillraceException e) {
          throw interrupted(broker.getKey(), e, told, wanted);
        }
      }
    }
  }

  private static SortedMap<Integer, List<PeerFaults>> withCurrent(Admin admin, FaultPlan plan)
      throws InterruptedException {
    var wanted = new TreeMap<Integer, List<PeerFaults>>();
    for (Map.Entry<Integer, List<PeerFaults>> broker : plan.perBroker().entrySet()) {
      try {
        List<PeerFaults> current = Calls.await(admin.networkFaults(broker.getKey()), REQUEST_LIMIT);
        wanted.put(broker.getKey(), FaultPlan.merged(current, broker.getValue()));
      } catch (MillraceException e) {
        throw new CommandFailure(
            e.code() == ErrorCode.REFUSED
                ? textOf(e) + "; nothing was changed"
                : "broker "
                    + broker.getKey()
                    + " can not be told: "
                    + e.getMessage()
                    + "; nothing was changed",
            e);
      }
    }
    return wanted;
  }

  private static CommandFailure interrupted(
      int failed,
      MillraceException failure,
      List<Integer> told,
      SortedMap<Integer, List<PeerFaults>> wanted) {
    var untold = new ArrayList<>(wanted.tailMap(failed + 1).keySet());
    return new CommandFailure(
        "broker "
            + failed
            + " could not be told, and may or may not have heard it: "
            + failure.getMessage()
            + (told.isEmpty() ? "" : "; " + Words.brokers(told) + " made the faults already")
            + (untold.isEmpty() ? "" : "; " + Words.brokers(untold) + " did not hear of them")
            + "; see: millrace cluster status, and end all with: millrace cluster heal",
        failure);
  }

  /**
   * Ends all faults of all brokers that run; those that do not have none.
   *
   * @return the brokers that were told
   */
  List<Integer> heal() throws IOException, InterruptedException {
    var failures = new ArrayList<String>();
    var refused = new ArrayList<String>();
    var healed = new ArrayList<Integer>();
    List<String> addresses = runningAddresses();
    if (addresses.isEmpty()) {
      throw new CommandFailure("no broker of this cluster runs, so there are no faults to end");
    }
    try (MillraceClient client = ConnectOptions.connect(addresses, REQUEST_LIMIT)) {
      for (BrokerProcess broker : cluster.brokers()) {
        int id = broker.member().id();
        switch (broker.state()) {
          case GONE -> {}
          case PAUSED -> failures.add("broker " + id + " could not be told: " + paused(id));
          case RUNNING -> {
            try {
              Calls.await(client.admin().setNetworkFaults(id, List.of()), REQUEST_LIMIT);
              healed.add(id);
            } catch (MillraceException e) {
              if (e.code() == ErrorCode.REFUSED) {
                refused.add(textOf(e)); // It can have none.
              } else {
                failures.add("broker " + id + " could not be told: " + e.getMessage());
              }
            }
          }
        }
      }
    }
    if (failures.isEmpty() && healed.isEmpty()) {
      throw new CommandFailure("there are no faults to end: " + refused.get(0));
    }
    if (!failures.isEmpty()) {
      throw new CommandFailure(
          String.join("; ", failures)
              + (healed.isEmpty() ? "" : "; " + Words.brokers(healed) + ": no faults any more"));
    }
    return healed;
  }

  /** The broker's own sentence, without the name of the code in front. */
  private static String textOf(MillraceException failure) {
    String name = failure.code() + ": ";
    String text = failure.getMessage();
    return text.startsWith(name) ? text.substring(name.length()) : text;
  }

  private String obstacle(int brokerId) throws IOException {
    return switch (cluster.broker(brokerId).state()) {
      case RUNNING -> null;
      case PAUSED -> paused(brokerId);
      case GONE -> "it does not run; start it with: millrace cluster start " + brokerId;
    };
  }

  private static String paused(int brokerId) {
    return "it is paused; let it go on with: millrace cluster resume " + brokerId;
  }

  private List<String> runningAddresses() throws IOException {
    var addresses = new ArrayList<String>();
    for (BrokerProcess broker : cluster.brokers()) {
      if (broker.state() == ProcessIdentity.State.RUNNING) {
        addresses.add(broker.member().address());
      }
    }
    return addresses;
  }
}
