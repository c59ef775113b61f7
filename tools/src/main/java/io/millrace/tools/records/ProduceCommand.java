package io.millrace.tools.records;

import io.millrace.client.MillraceClient;
import io.millrace.client.Producer;
import io.millrace.protocol.batch.RecordHeader;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.tools.CommandFailure;
import io.millrace.tools.ConnectOptions;
import io.millrace.tools.ExitCodes;
import io.millrace.tools.Interrupts;
import io.millrace.tools.MillraceCommand;
import io.millrace.tools.Output;
import io.millrace.tools.Progress;
import io.millrace.tools.Quantities;
import io.millrace.tools.UsageFailure;
import io.millrace.tools.Words;
import io.millrace.tools.topic.Topics;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code millrace produce}: lines become records. */
@Command(
    name = "produce",
    description = {
      "Send each line of standard input, or of a file, as a record.",
      "Exit code 1 when a record failed; the first failure ends the reading, so that no later line"
          + " of a key overtakes a failed one."
    })
public final class ProduceCommand implements Callable<Integer> {
  /** The protocol's largest record, with room for its frame. */
  private static final int MAX_LINE_BYTES = 16 * 1024 * 1024;

  private final MillraceCommand root;

  @Mixin private ConnectOptions connect;
  @Mixin private ProducerOptions producerOptions;

  @Parameters(paramLabel = "TOPIC", description = "Topic to send to")
  private String topic;

  @Option(
      names = "--file",
      paramLabel = "FILE",
      description = "Read this file instead of standard input")
  private Path file;

  @Option(
      names = "--key-separator",
      paramLabel = "TEXT",
      description = "What stands between key and value, as in '\\t'. Without it lines have no keys")
  private String keySeparator;

  @Option(
      names = "--partition",
      paramLabel = "N",
      description = "Send all lines to this partition instead of choosing it by the key")
  private Integer partition;

  @Option(
      names = "--header",
      paramLabel = "KEY=VALUE",
      description = "Header of every record; may be repeated")
  private List<String> headers = List.of();

  @Option(
      names = "--rate",
      paramLabel = "N",
      description = "At most so many records per second. Default: as fast as they are taken")
  private double rate;

  ProduceCommand(MillraceCommand root) {
    this.root = root;
  }

  @Override
  public Integer call() throws IOException, InterruptedException {
    if (rate < 0) {
      throw new UsageFailure("--rate " + rate + " is below 0; leave it out for no limit");
    }
    var parser =
        new KeyedLine.Parser(keySeparator == null ? null : Quantities.unescaped(keySeparator));
    var target = new ProduceRun.Target(topic, partition, parseHeaders(headers));
    var config = producerOptions.config(connect.requestTimeout());
    try (InputStream in = open();
        MillraceClient client = connect.connect(root)) {
      requirePartition(client, target, connect.requestTimeout());
      try (Producer producer = client.producer(config)) {
        var run =
            new ProduceRun(
                producer, target, parser, rate, producerOptions.deliveryTimeout().toMillis());
        return send(run, new LineReader(in, MAX_LINE_BYTES));
      }
    }
  }

  private int send(ProduceRun run, LineReader lines) throws IOException, InterruptedException {
    Progress progress = root.progress();
    long graceMillis = producerOptions.deliveryTimeout().toMillis();
    try (var interrupts = new Interrupts(run::stop, graceMillis)) {
      CommandFailure badLine = null;
      try {
        run.run(lines, progress);
      } catch (CommandFailure e) {
        badLine = e;
      }
      report(run);
      Outcomes outcomes = run.outcomes();
      if (badLine != null) {
        throw new CommandFailure(
            badLine.getMessage()
                + " ("
                + Words.count(run.sent(), "line")
                + " before it: "
                + summary(outcomes)
                + ")");
      }
      if (outcomes.failed() > 0) {
        throw new CommandFailure(failureText(outcomes, run.sent()));
      }
      if (outcomes.done() < run.sent()) {
        throw new CommandFailure(
            Words.count(run.sent() - outcomes.done(), "record")
                + " got no answer, so their outcome is unknown: "
                + summary(outcomes));
      }
      return interrupts.finished(ExitCodes.OK);
    }
  }

  private void report(ProduceRun run) {
    Outcomes outcomes = run.outcomes();
    double seconds = Math.max(run.seconds(), 1e-3);
    if (root.output().form() == Output.Form.table) {
      root.progress()
          .step(
              summary(outcomes)
                  + " in "
                  + Words.millis(Math.round(seconds * 1_000))
                  + ", "
                  + Words.count(Math.round(outcomes.done() / seconds))
                  + " records/s, "
                  + Words.bytes(run.bytes() / seconds)
                  + "/s");
      for (Outcomes.Failure failure : outcomes.failures()) {
        root.terminal()
            .err()
            .println(
                "  "
                    + Words.count(failure.records(), "record")
                    + " "
                    + Words.of(failure.outcome())
                    + ", the first from line "
                    + failure.firstRecord()
                    + ": "
                    + failure.text());
      }
      return;
    }
    var fields = new LinkedHashMap<String, Object>();
    fields.put("sent", run.sent());
    fields.put("done", outcomes.done());
    fields.put("notDone", outcomes.notDone());
    fields.put("unknown", outcomes.unknown());
    fields.put("bytes", run.bytes());
    fields.put("seconds", seconds);
    fields.put("errors", outcomes.failureRows());
    root.output().fields(fields);
  }

  private static String summary(Outcomes outcomes) {
    return Words.count(outcomes.done())
        + " done, "
        + Words.count(outcomes.notDone())
        + " not done, "
        + Words.count(outcomes.unknown())
        + " unknown";
  }

  /** In a cluster that does not answer, what to do comes first; otherwise what was wrong. */
  static String failureText(Outcomes outcomes, long sent) {
    Outcomes.Failure first =
        outcomes.failures().stream()
            .min(Comparator.comparingLong(Outcomes.Failure::firstRecord))
            .orElseThrow();
    String counts =
        Words.count(outcomes.failed())
            + " of "
            + Words.count(sent, "record")
            + " failed: "
            + summary(outcomes)
            + "; lines after "
            + Words.count(sent)
            + " were not sent";
    if (first.code() != ErrorCode.NOT_SENT_IN_TIME && first.code() != ErrorCode.DELIVERY_TIMEOUT) {
      return counts + ". First error: line " + first.firstRecord() + ": " + first.text();
    }
    String text = first.text().replaceFirst("^" + first.code() + ": ", "");
    int end = text.indexOf("; ");
    return (end < 0 ? text : text.substring(0, end))
        + "; see: millrace cluster status ("
        + counts
        + "; line "
        + first.firstRecord()
        + (end < 0 ? "" : ": " + text.substring(end + 2))
        + ")";
  }

  private InputStream open() throws IOException {
    if (file == null) {
      return root.terminal().in();
    }
    if (!Files.isReadable(file) || Files.isDirectory(file)) {
      throw new CommandFailure(
          "--file " + file + " can not be read; check the path and its rights");
    }
    return Files.newInputStream(file);
  }

  /** Before the first line: the topic exists and has the partition. */
  static void requirePartition(
      MillraceClient client, ProduceRun.Target target, Duration requestTimeout)
      throws InterruptedException {
    int partitions =
        Topics.existing(client.admin(), target.topic(), requestTimeout).partitions().size();
    Integer partition = target.partition();
    if (partition != null) {
      requirePartition(target.topic(), partition, partitions);
    }
  }

  static void requirePartition(String topic, int partition, int partitions) {
    if (partition < 0 || partition >= partitions) {
      throw new CommandFailure(
          "topic "
              + topic
              + " has no partition "
              + partition
              + "; its "
              + Words.count(partitions, "partition")
              + (partitions == 1 ? " is 0" : " are 0 to " + (partitions - 1)));
    }
  }

  static List<RecordHeader> parseHeaders(List<String> texts) {
    var parsed = new ArrayList<RecordHeader>();
    for (String text : texts) {
      int equals = text.indexOf('=');
      if (equals < 1) {
        throw new UsageFailure("--header '" + text + "' is not KEY=VALUE");
      }
      parsed.add(
          new RecordHeader(
              text.substring(0, equals),
              text.substring(equals + 1).getBytes(StandardCharsets.UTF_8)));
    }
    return List.copyOf(parsed);
  }
}
