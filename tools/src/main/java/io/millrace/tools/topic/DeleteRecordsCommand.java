package io.millrace.tools.topic;

import io.millrace.client.Admin;
import io.millrace.client.MillraceClient;
import io.millrace.client.OffsetSpec;
import io.millrace.client.TopicDescription;
import io.millrace.client.TopicPartition;
import io.millrace.tools.Calls;
import io.millrace.tools.ConnectOptions;
import io.millrace.tools.ExitCodes;
import io.millrace.tools.MillraceCommand;
import io.millrace.tools.Output.Rows;
import io.millrace.tools.UsageFailure;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code millrace topic delete-records}. */
@Command(
    name = "delete-records",
    description = {
      "Delete the oldest records of a topic, for good and on all replicas.",
      "They cannot be read any more when the command ends; their files go some time later."
    })
final class DeleteRecordsCommand implements Callable<Integer> {

  private final MillraceCommand root;

  @Mixin private ConnectOptions connect;

  @Parameters(paramLabel = "TOPIC", description = "Name of the topic")
  private String topic;

  @Option(
      names = "--partition",
      paramLabel = "P",
      description = "Partition; needed with --before. With --all the default is every partition")
  private Integer partition;

  /** Which records. */
  private static final class Bound {
    @Option(
        names = "--before",
        paramLabel = "OFFSET",
        description = "Delete the records below this offset, at most the end of the partition")
    private Long before;

    @Option(names = "--all", description = "Delete all records that are there now")
    private boolean all;
  }

  @ArgGroup(multiplicity = "1")
  private Bound bound;

  DeleteRecordsCommand(MillraceCommand root) {
    this.root = root;
  }

  @Override
  public Integer call() throws InterruptedException {
    checkUsage();
    try (MillraceClient client = connect.connect(root)) {
      Duration timeout = connect.requestTimeout();
      TopicDescription described = Topics.existing(client.admin(), topic, timeout);
      Map<TopicPartition, CompletableFuture<Long>> deletions = new LinkedHashMap<>();
      ends(client.admin(), described, timeout)
          .forEach((each, end) -> deletions.put(each, client.admin().deleteRecords(each, end)));
      var rows = new Rows(List.of("topic", "partition", "logStart"));
      for (var deletion : deletions.entrySet()) {
        rows.add(topic, deletion.getKey().partition(), Calls.await(deletion.getValue(), timeout));
      }
      root.output().rows(rows);
    }
    return ExitCodes.OK;
  }

  private void checkUsage() {
    if (!bound.all && partition == null) {
      throw new UsageFailure(
          "--before " + bound.before + " needs --partition: each partition has its own offsets");
    }
    if (!bound.all && bound.before < 0) {
      throw new UsageFailure("--before " + bound.before + " is below 0, the first offset there is");
    }
    if (partition != null && partition < 0) {
      throw new UsageFailure("--partition " + partition + " is below 0, the first partition");
    }
  }

  /** First offset that stays, by partition. */
  private Map<TopicPartition, Long> ends(Admin admin, TopicDescription described, Duration timeout)
      throws InterruptedException {
    if (!bound.all) {
      return Map.of(new TopicPartition(topic, partition), bound.before);
    }
    List<TopicPartition> partitions =
        partition != null
            ? List.of(new TopicPartition(topic, partition))
            : described.partitions().stream()
                .map(each -> new TopicPartition(topic, each.partition()))
                .toList();
    Map<TopicPartition, Long> ends = new LinkedHashMap<>();
    // An offset, so that a repeated request never takes what came later.
    Map<TopicPartition, Admin.OffsetAndTime> latest =
        Calls.await(admin.listOffsets(partitions, OffsetSpec.latest()), timeout);
    partitions.forEach(each -> ends.put(each, latest.get(each).offset()));
    return ends;
  }
}
