package io.millrace.tools.local;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonParseException;
import io.millrace.tools.CommandFailure;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * What {@code cluster up} decided once: {@code HOME/cluster.json}.
 *
 * @param clusterId never changes; a data directory of another cluster is refused by the broker
 * @param heap the brokers' {@code -Xmx}
 * @param javaOptions further options of the brokers' JVMs
 * @param allowFaults the brokers take commands for faults in their network
 */
public record ClusterFile(
    int version,
    String clusterId,
    List<Member> brokers,
    String heap,
    List<String> javaOptions,
    boolean allowFaults) {

  static final int VERSION = 1;
  private static final Gson JSON =
      new GsonBuilder().disableHtmlEscaping().setPrettyPrinting().create();

  /**
   * @param formatted the broker's data directory was made; from then on a missing directory is a
   *     loss and never made anew, because an empty replica must not vote again
   */
  public record Member(int id, String host, int port, boolean formatted) {
    public String address() {
      return host + ":" + port;
    }

    /** As in {@code cluster.brokers}. */
    String bootstrapEntry() {
      return id + "@" + address();
    }
  }

  static ClusterFile read(Path file) throws IOException {
    String text = Files.readString(file);
    ClusterFile read;
    try {
      read = JSON.fromJson(text, ClusterFile.class);
    } catch (JsonParseException e) {
      throw unreadable(file, "it is not JSON: " + e.getMessage());
    }
    if (read == null || read.clusterId == null || read.brokers == null || read.brokers.isEmpty()) {
      throw unreadable(file, "clusterId or brokers are missing");
    }
    if (read.version != VERSION) {
      throw unreadable(file, "its version is " + read.version + ", this command knows " + VERSION);
    }
    return new ClusterFile(
        read.version,
        read.clusterId,
        List.copyOf(read.brokers),
        read.heap,
        read.javaOptions == null ? List.of() : List.copyOf(read.javaOptions),
        read.allowFaults);
  }

  private static CommandFailure unreadable(Path file, String why) {
    return new CommandFailure(
        file
            + " can not be used: "
            + why
            + "; restore it, or choose another directory with --home");
  }

  void write(Path file) throws IOException {
    SafeFiles.replace(file, JSON.toJson(this) + System.lineSeparator());
  }

  Member member(int brokerId) {
    return brokers.stream()
        .filter(member -> member.id() == brokerId)
        .findFirst()
        .orElseThrow(
            () ->
                new CommandFailure(
                    "there is no broker "
                        + brokerId
                        + "; this cluster has "
                        + String.join(", ", ids().stream().map(String::valueOf).toList())));
  }

  ClusterFile withFormatted(int brokerId) {
    return withFormatted(brokerId, true);
  }

  ClusterFile withFormatted(int brokerId, boolean formatted) {
    return new ClusterFile(
        version,
        clusterId,
        brokers.stream()
            .map(
                member ->
                    member.id() == brokerId
                        ? new Member(brokerId, member.host(), member.port(), formatted)
                        : member)
            .toList(),
        heap,
        javaOptions,
        allowFaults);
  }

  List<Integer> ids() {
    return brokers.stream().map(Member::id).toList();
  }

  public List<String> addresses() {
    return brokers.stream().map(Member::address).toList();
  }

  List<String> bootstrapEntries() {
    return brokers.stream().map(Member::bootstrapEntry).toList();
  }
}
