package io.millrace.tools.records;

import io.millrace.client.MillraceClient;
import io.millrace.client.OffsetSpec;
import io.millrace.client.Reader;
import io.millrace.client.ReaderConfig;
import io.millrace.client.TopicPartition;
import io.millrace.tools.BrokerWatch;
import io.millrace.tools.Calls;
import io.millrace.tools.CommandFailure;
import io.millrace.tools.ConnectOptions;
import io.millrace.tools.ExitCodes;
import io.millrace.tools.Interrupts;
import io.millrace.tools.MillraceCommand;
import io.millrace.tools.Output;
import io.millrace.tools.Quantities;
import io.millrace.tools.UsageFailure;
import io.millrace.tools.Words;
import io.millrace.tools.topic.Topics;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.stream.IntStream;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code millrace consume}: records become lines. */
@Command(
    name = "consume",
    description = {
      "Write the records of a topic to standard output, up to the end that it has now.",
      "Order holds within a partition; partitions are mixed as they arrive."
    })
public final class ConsumeCommand implements Callable<Integer> {
  private static final long INTERRUPT_GRACE_MILLIS = 5_000;

  /** Large enough that the network, not the credit, bounds a command that only writes lines. */
  private static final int PREFETCH_RECORDS = 50_000;

  private static final int POLL_RECORDS = 5_000;

  private final MillraceCommand root;

  @Mixin private ConnectOptions connect;

  @Parameters(paramLabel = "TOPIC", description = "Topic to read")
  private String topic;

  @Option(
      names = "--from",
      paramLabel = "START",
      defaultValue = "earliest",
      description =
          "earliest, latest, an offset (of one partition), a time as 2026-01-31T08:00:00Z, a date"
              + " as 2026-01-31 (its midnight), or @milliseconds. Without a zone that of this"
              + " machine counts. Default: earliest")
  private String from;

  @Option(
      names = "--partition",
      paramLabel = "N",
      description = "Read only this partition; may be repeated. Default: all")
  private List<Integer> partitions = List.of();

  @Option(
      names = "--max",
      paramLabel = "N",
      description = "End after so many records. Default: no limit")
  private Long max;

  @Option(names = "--follow", description = "Go on at the end and wait for new records")
  private boolean follow;

  @Option(
      names = "--timeout",
      paramLabel = "TIME",
      converter = Quantities.DurationConverter.class,
      description =
          "Longest time without a record: with --follow the end, otherwise a failure."
              + " Default: none with --follow, otherwise 30s")
  private Duration timeout;

  @Option(
      names = "--format",
      paramLabel = "FORMAT",
      description =
          "value, key-value, json, or a text with %%k key, %%v value, %%o offset, %%p partition,"
              + " %%t timestamp, %%T topic, %%h headers, as in '%%p:%%o %%k=%%v'. Default: value")
  private String format;

  @Option(
      names = "--key-separator",
      paramLabel = "TEXT",
      defaultValue = "\\t",
      description = "Between key and value of key-value. Default: \\t")
  private String keySeparator;

  ConsumeCommand(MillraceCommand root) {
    this.root = root;
  }

  @Override
  public Integer call() throws IOException, InterruptedException {
    StartPoint start = StartPoint.parse(from, ZoneId.systemDefault());
    RecordFormat recordFormat =
        RecordFormat.parse(formatName(), Quantities.unescaped(keySeparator));
    if (max != null && max < 1) {
      throw new UsageFailure("--max " + max + " is below 1; leave it out to read all");
    }
    try (MillraceClient client = connect.connect(root)) {
      List<TopicPartition> wanted = wanted(client, start);
      var config =
          new ReaderConfig().withPrefetchRecords(PREFETCH_RECORDS).withMaxPollRecords(POLL_RECORDS);
      try (Reader reader = client.reader(config)) {
        // The end is taken before the start, so that --from latest without --follow ends at once.
        Map<TopicPartition, Long> ends = follow ? null : ends(client, wanted);
        requireWithin(start, ends);
        reader.assign(wanted);
        seek(reader, wanted, start);
        var watch = new BrokerWatch(() -> client.admin().describeCluster(), Instant::now);
        return read(reader, recordFormat, ends, watch);
      }
    }
  }

  private int read(
      Reader reader, RecordFormat recordFormat, Map<TopicPartition, Long> ends, BrokerWatch watch)
      throws IOException {
    Duration idle = timeout;
    if (idle == null) {
      idle = follow ? Duration.ZERO : connect.requestTimeout();
    }
    var run =
        new ConsumeRun(
            reader,
            recordFormat,
            root.terminal().out(),
            new ConsumeRun.Limits(ends, max == null ? 0 : max, idle),
            () -> {
              watch.look();
              return watch.silence();
            });
    try (var interrupts = new Interrupts(run::stop, INTERRUPT_GRACE_MILLIS)) {
      long records = run.run(root.progress());
      root.progress().step(Words.count(records, "record") + " read");
      return interrupts.finished(ExitCodes.OK);
    }
  }

  private String formatName() {
    if (format != null) {
      return format;
    }
    return root.output().form() == Output.Form.json ? "json" : "value";
  }

  private List<TopicPartition> wanted(MillraceClient client, StartPoint start)
      throws InterruptedException {
    int count =
        Topics.existing(client.admin(), topic, connect.requestTimeout()).partitions().size();
    List<Integer> numbers =
        partitions.isEmpty() ? IntStream.range(0, count).boxed().toList() : partitions;
    for (int number : numbers) {
      ProduceCommand.requirePartition(topic, number, count);
    }
    if (start instanceof StartPoint.AtOffset && numbers.size() > 1) {
      throw new UsageFailure(
          "--from "
              + from
              + ": an offset belongs to one partition and topic "
              + topic
              + " is read in "
              + numbers.size()
              + "; name one with --partition");
    }
    return numbers.stream().distinct().map(number -> new TopicPartition(topic, number)).toList();
  }

  private Map<TopicPartition, Long> ends(MillraceClient client, List<TopicPartition> wanted)
      throws InterruptedException {
    var offsets =
        Calls.await(
            client.admin().listOffsets(wanted, OffsetSpec.latest()), connect.requestTimeout());
    return offsets.entrySet().stream()
        .collect(
            java.util.stream.Collectors.toMap(
                Map.Entry::getKey, entry -> entry.getValue().offset()));
  }

  private void requireWithin(StartPoint start, Map<TopicPartition, Long> ends) {
    if (start instanceof StartPoint.AtOffset at && ends != null) {
      ends.forEach(
          (partition, end) -> {
            if (at.offset() > end) {
              throw new CommandFailure(
                  "--from "
                      + at.offset()
                      + " is beyond the end "
                      + end
                      + " of partition "
                      + partition.partition()
                      + " of topic "
                      + topic
                      + "; give an offset up to it, or earliest or latest");
            }
          });
    }
  }

  private static void seek(Reader reader, List<TopicPartition> wanted, StartPoint start) {
    if (start instanceof StartPoint.Earliest) {
      reader.seekToEarliest(wanted);
    } else if (start instanceof StartPoint.Latest) {
      reader.seekToLatest(wanted);
    } else if (start instanceof StartPoint.AtOffset at) {
      wanted.forEach(partition -> reader.seek(partition, at.offset()));
    } else if (start instanceof StartPoint.AtTime at) {
      reader.seekToTime(wanted, at.millis());
    }
  }
}
