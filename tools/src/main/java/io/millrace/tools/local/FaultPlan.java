package io.millrace.tools.local;

import io.millrace.protocol.message.FlowFaults;
import io.millrace.protocol.message.PeerFaults;
import io.millrace.tools.CommandFailure;
import io.millrace.tools.UsageFailure;
import io.millrace.tools.Words;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Which broker is told to disturb its network with which others, and how. Pure: made from what the
 * user wrote and the ids of the cluster, asks nobody.
 *
 * <p>One broker at one end of a connection is enough to disturb it, so as few as possible are told:
 * fewer can fail to hear it, and the restart of one ends what it does and nothing else.
 *
 * @param perBroker the links that each told broker changes, by peer; a direction that is not set is
 *     left as it is
 */
record FaultPlan(SortedMap<Integer, List<PeerFaults>> perBroker) {
  private static final FlowFaults CUT = FlowFaults.newBuilder().setDropped(true).build();
  private static final Pattern ONE_WAY = Pattern.compile("(\\d{1,9})\\s*[>:]\\s*(\\d{1,9})");
  private static final int MAX_DELAY_MILLIS = 10_000;
  private static final double MAX_PERCENT = 100;

  /** Nothing goes between this broker and any other. */
  static FaultPlan isolate(List<Integer> cluster, int broker) {
    requireKnown(cluster, broker);
    return both(broker, others(cluster, broker), CUT);
  }

  /** Nothing goes between the sides, written {@code 1/2,3}. */
  static FaultPlan split(List<Integer> cluster, String text) {
    String[] sides = text.split("/", -1);
    if (sides.length != 2) {
      throw new UsageFailure("split '" + text + "' has not two sides; write it as 1/2,3");
    }
    var left = side(cluster, text, sides[0]);
    var right = side(cluster, text, sides[1]);
    for (int broker : right) {
      if (left.contains(broker)) {
        throw new UsageFailure(
            "split '" + text + "' has broker " + broker + " on both sides; name it once");
      }
    }
    var missing = new TreeSet<>(cluster);
    missing.removeAll(left);
    missing.removeAll(right);
    if (!missing.isEmpty()) {
      throw new UsageFailure(
          "split '"
              + text
              + "' leaves out "
              + Words.brokers(missing)
              + "; put each broker of the cluster on one side");
    }
    boolean leftIsSmall = left.size() <= right.size();
    Collection<Integer> told = leftIsSmall ? left : right;
    Collection<Integer> far = leftIsSmall ? right : left;
    var perBroker = new TreeMap<Integer, List<PeerFaults>>();
    told.forEach(broker -> perBroker.putAll(both(broker, far, CUT).perBroker()));
    return new FaultPlan(perBroker);
  }

  private static Collection<Integer> side(List<Integer> cluster, String text, String side) {
    var brokers = new TreeSet<Integer>();
    for (String part : side.split(",", -1)) {
      String id = part.strip();
      if (!id.matches("\\d{1,9}")) {
        throw new UsageFailure(
            "split '" + text + "' has '" + id + "' for a broker; write it as 1/2,3");
      }
      requireKnown(cluster, Integer.parseInt(id));
      if (!brokers.add(Integer.parseInt(id))) {
        throw new UsageFailure("split '" + text + "' has broker " + id + " twice; name it once");
      }
    }
    return brokers;
  }

  /** What the first broker sends does not reach the second, written {@code 1>2}. */
  static FaultPlan oneWay(List<Integer> cluster, String text) {
    Matcher matcher = text == null ? null : ONE_WAY.matcher(text.strip());
    if (matcher == null || !matcher.matches()) {
      throw new UsageFailure(
          "one-way "
              + (text == null ? "lacks FROM>TO" : "'" + text + "' is not FROM>TO")
              + "; write it as '1>2', in quotes, for a shell takes > for itself, or as 1:2");
    }
    int from = Integer.parseInt(matcher.group(1));
    int to = Integer.parseInt(matcher.group(2));
    requireKnown(cluster, from);
    requireKnown(cluster, to);
    if (from == to) {
      throw new UsageFailure(
          "one-way '" + text + "' names one broker twice; name the two ends of a connection");
    }
    return new FaultPlan(
        new TreeMap<>(
            Map.of(from, List.of(PeerFaults.newBuilder().setBrokerId(to).setTo(CUT).build()))));
  }

  /** What goes between this broker and any other is late, and a part of it lost. */
  static FaultPlan slow(
      List<Integer> cluster, int broker, long latencyMillis, long jitterMillis, double loss) {
    requireKnown(cluster, broker);
    requireDelay("--latency", latencyMillis);
    requireDelay("--jitter", jitterMillis);
    FlowFaults flow =
        FlowFaults.newBuilder()
            .setLatencyMillis((int) latencyMillis)
            .setJitterMillis((int) jitterMillis)
            .setLossPercent(loss)
            .build();
    return both(broker, others(cluster, broker), flow);
  }

  private static void requireDelay(String option, long millis) {
    if (millis > MAX_DELAY_MILLIS) {
      throw new UsageFailure(
          option + " " + millis + "ms is above the limit of " + MAX_DELAY_MILLIS + "ms");
    }
  }

  /** A percentage as people write it: {@code 1%}, {@code 0.5}. */
  static double percent(String text) {
    String number = text.strip();
    if (number.endsWith("%")) {
      number = number.substring(0, number.length() - 1).strip();
    }
    if (!number.matches("\\d{1,9}(\\.\\d{1,9})?")) {
      throw new UsageFailure("--loss '" + text + "' is not a percentage; write it as 1% or 0.5%");
    }
    double percent = Double.parseDouble(number);
    if (percent > MAX_PERCENT) {
      throw new UsageFailure("--loss " + text + " is not in 0% to 100%");
    }
    return percent;
  }

  private static void requireKnown(List<Integer> cluster, int broker) {
    if (!cluster.contains(broker)) {
      throw new CommandFailure(
          "there is no broker "
              + broker
              + "; this cluster has "
              + String.join(", ", cluster.stream().map(String::valueOf).toList())
              + "; nothing was changed");
    }
    if (cluster.size() == 1) {
      throw new CommandFailure(
          "this cluster has one broker, so there is no network between brokers to disturb");
    }
  }

  private static List<Integer> others(List<Integer> cluster, int broker) {
    return cluster.stream().filter(other -> other != broker).toList();
  }

  private static FaultPlan both(int broker, Collection<Integer> peers, FlowFaults flow) {
    var links = new ArrayList<PeerFaults>();
    for (int peer : peers) {
      links.add(PeerFaults.newBuilder().setBrokerId(peer).setTo(flow).setFrom(flow).build());
    }
    return new FaultPlan(new TreeMap<>(Map.of(broker, links)));
  }

  /** What a broker is to have when it has the current faults already. */
  static List<PeerFaults> merged(List<PeerFaults> current, List<PeerFaults> wanted) {
    var merged = new TreeMap<Integer, PeerFaults>();
    current.forEach(peer -> merged.put(peer.getBrokerId(), peer));
    for (PeerFaults change : wanted) {
      PeerFaults before =
          merged.getOrDefault(
              change.getBrokerId(),
              PeerFaults.newBuilder().setBrokerId(change.getBrokerId()).build());
      PeerFaults.Builder after = before.toBuilder();
      if (change.hasTo()) {
        after.setTo(merged(before.getTo(), change.getTo()));
      }
      if (change.hasFrom()) {
        after.setFrom(merged(before.getFrom(), change.getFrom()));
      }
      merged.put(change.getBrokerId(), after.build());
    }
    return List.copyOf(merged.values());
  }

  /** A cut leaves the slowness as it is, and the other way round. */
  private static FlowFaults merged(FlowFaults before, FlowFaults change) {
    return change.getDropped()
        ? before.toBuilder().setDropped(true).build()
        : change.toBuilder().setDropped(before.getDropped()).build();
  }
}
