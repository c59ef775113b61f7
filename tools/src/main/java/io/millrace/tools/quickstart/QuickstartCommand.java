package io.millrace.tools.quickstart;

import io.millrace.client.MillraceClient;
import io.millrace.client.OffsetSpec;
import io.millrace.client.Producer;
import io.millrace.client.ProducerConfig;
import io.millrace.client.Reader;
import io.millrace.client.ReaderConfig;
import io.millrace.client.TopicDescription;
import io.millrace.client.TopicPartition;
import io.millrace.client.TopicSpec;
import io.millrace.tools.Calls;
import io.millrace.tools.CommandFailure;
import io.millrace.tools.ConnectOptions;
import io.millrace.tools.ExitCodes;
import io.millrace.tools.MillraceCommand;
import io.millrace.tools.Output;
import io.millrace.tools.Progress;
import io.millrace.tools.UsageFailure;
import io.millrace.tools.Waits;
import io.millrace.tools.Words;
import io.millrace.tools.local.LocalCluster;
import io.millrace.tools.records.ConsumeRun;
import io.millrace.tools.records.KeyedLine;
import io.millrace.tools.records.LineReader;
import io.millrace.tools.records.ProduceRun;
import io.millrace.tools.records.RecordFormat;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code millrace quickstart}: the whole promise once, on this machine, within half a minute. */
@Command(
    name = "quickstart",
    description = {
      "Start three brokers, send a text file, kill the leader on the way, read everything back, and"
          + " compare.",
      "The cluster stays up. If the cluster of --home runs already it is used, with a new topic."
    })
public final class QuickstartCommand implements Callable<Integer> {
  private static final int PARTITIONS = 12;
  private static final int REPLICAS = 3;
  private static final int KILL_AT_PERCENT = 40;
  private static final int START_AT_PERCENT = 70;

  /** So slow that the kill falls into the sending: about five seconds for the default lines. */
  private static final double SECONDS_OF_SENDING = 5;

  private static final Duration START_LIMIT = Duration.ofSeconds(60);
  private static final Duration REQUEST_TIMEOUT = Duration.ofSeconds(30);
  private static final Duration SEND_LIMIT = Duration.ofSeconds(150);
  private static final Duration OUTAGE_LIMIT = Duration.ofSeconds(5);
  private static final Duration READ_IDLE_LIMIT = Duration.ofSeconds(30);
  private static final int MAX_LINE_BYTES = 1024 * 1024;
  private static final int PREFETCH_RECORDS = 20_000;

  private final MillraceCommand root;
  private final long startNanos = System.nanoTime();

  @Option(
      names = "--lines",
      paramLabel = "N",
      defaultValue = "100000",
      description = "Lines of the text. Default: 100000")
  private int lines;

  @Option(
      names = "--base-port",
      paramLabel = "PORT",
      description =
          "Port of broker 1 when the cluster is made; the others take the ports after it."
              + " Default: 19801")
  private Integer basePort;

  @Option(
      names = "--heap",
      paramLabel = "SIZE",
      description = "Heap of each broker that is started, as Java's -Xmx. Default: 512m")
  private String heap;

  QuickstartCommand(MillraceCommand root) {
    this.root = root;
  }

  @Override
  public Integer call() throws IOException, InterruptedException {
    if (lines < 100) {
      throw new UsageFailure(
          "--lines " + lines + " is too few to kill a broker amid; give 100 or more");
    }
    LocalCluster.requireHeapSize(heap);
    LocalCluster cluster = cluster();
    try (MillraceClient client =
        ConnectOptions.connect(cluster.file().addresses(), REQUEST_TIMEOUT)) {
      TopicDescription topic = topic(client);
      Path text = cluster.home().directory().resolve("quickstart").resolve("orders.tsv");
      QuickstartText.write(text, lines);
      say("text: %s, %s lines, %s", text, Words.count(lines), Words.bytes(Files.size(text)));
      int victim = send(client, cluster, topic, text);
      KeyedComparison.Result result = readBack(client, cluster, topic, text);
      return verdict(topic, victim, result);
    }
  }

  private LocalCluster cluster() throws IOException, InterruptedException {
    LocalCluster cluster =
        LocalCluster.openOrCreate(
            root.home(), new LocalCluster.Plan(null, basePort, null, heap, List.of(), null));
    int brokers = cluster.file().brokers().size();
    if (brokers < REPLICAS) {
      throw new CommandFailure(
          root.home().directory()
              + " holds a cluster of "
              + Words.count(brokers, "broker")
              + ", quickstart needs "
              + REPLICAS
              + "; choose another directory with --home");
    }
    say("cluster in %s", root.home().directory());
    cluster.up(START_LIMIT, root.progress());
    say("cluster is up: %s", String.join(", ", cluster.file().addresses()));
    return cluster;
  }

  private TopicDescription topic(MillraceClient client) throws InterruptedException {
    List<String> taken = Calls.await(client.admin().listTopics(), REQUEST_TIMEOUT);
    int number = 1;
    while (taken.contains("quickstart-" + number)) {
      number++;
    }
    TopicDescription topic =
        Calls.await(
            client.admin().createTopic(TopicSpec.of("quickstart-" + number, PARTITIONS, REPLICAS)),
            REQUEST_TIMEOUT);
    say(
        "topic %s: %d partitions, %d replicas, fsync %s",
        topic.name(), topic.partitions().size(), topic.replicas(), Words.of(topic.fsync()));
    return topic;
  }

  /** Sends the text, and kills and restarts the leader of a partition meanwhile; returns who. */
  private int send(MillraceClient client, LocalCluster cluster, TopicDescription topic, Path text)
      throws IOException, InterruptedException {
    ExecutorService thread = Executors.newSingleThreadExecutor();
    try (Producer producer = client.producer(new ProducerConfig());
        InputStream in = Files.newInputStream(text)) {
      var run =
          new ProduceRun(
              producer,
              new ProduceRun.Target(topic.name(), null, List.of()),
              new KeyedLine.Parser("\t"),
              lines / SECONDS_OF_SENDING,
              SEND_LIMIT.toMillis());
      say("sending, each line under the key before its tab");
      Progress progress = root.progress();
      Future<Void> sending =
          thread.submit(
              () -> {
                run.run(new LineReader(in, MAX_LINE_BYTES), new Progress(root.terminal(), true));
                return null;
              });
      int victim = disturb(client, cluster, topic, run, sending, progress);
      awaitEnd(sending);
      progress.clear();
      if (run.outcomes().failed() > 0 || run.outcomes().done() != lines) {
        throw new CommandFailure(
            "of "
                + Words.count(lines, "line")
                + " only "
                + Words.count(run.outcomes().done())
                + " were acknowledged; "
                + run.outcomes().failures());
      }
      say("%s lines acknowledged", Words.count(run.outcomes().done()));
      return victim;
    } finally {
      thread.shutdownNow();
    }
  }

  private int disturb(
      MillraceClient client,
      LocalCluster cluster,
      TopicDescription topic,
      ProduceRun run,
      Future<Void> sending,
      Progress progress)
      throws IOException, InterruptedException {
    awaitShare(run, sending, KILL_AT_PERCENT, SEND_LIMIT, progress);
    TopicDescription.Partition first =
        Calls.await(client.admin().describeTopic(topic.name()), REQUEST_TIMEOUT)
            .partitions()
            .get(0);
    int victim = first.leader() == 0 ? first.replicas().get(0).broker() : first.leader();
    long doneBefore = run.outcomes().done();
    cluster.kill(victim);
    say(
        "kill -9 of broker %d, leader of partition %d, after %s acknowledged lines",
        victim, first.partition(), Words.count(doneBefore));
    awaitShare(run, sending, START_AT_PERCENT, OUTAGE_LIMIT, progress);
    say(
        "%s lines acknowledged meanwhile by the other brokers; starting broker %d again",
        Words.count(run.outcomes().done() - doneBefore), victim);
    cluster.start(victim, START_LIMIT, progress);
    say("broker %d is back", victim);
    return victim;
  }

  /** Until so many percent are acknowledged, the time is over, or the sending has ended. */
  private void awaitShare(
      ProduceRun run, Future<Void> sending, int percent, Duration limit, Progress progress)
      throws InterruptedException {
    long wanted = (long) lines * percent / 100;
    Waits.until(
        limit,
        () -> {
          if (progress.due()) {
            progress.show("  " + Words.count(run.outcomes().done()) + " lines acknowledged");
          }
          return run.outcomes().done() >= wanted || sending.isDone();
        });
    progress.clear();
  }

  private static void awaitEnd(Future<Void> sending) throws IOException, InterruptedException {
    try {
      sending.get(SEND_LIMIT.toMillis(), TimeUnit.MILLISECONDS);
    } catch (TimeoutException e) {
      throw new CommandFailure(
          "the sending did not end in " + Words.millis(SEND_LIMIT.toMillis()), e);
    } catch (ExecutionException e) {
      if (e.getCause() instanceof IOException io) {
        throw io;
      }
      throw new IllegalStateException(e.getCause());
    }
  }

  private KeyedComparison.Result readBack(
      MillraceClient client, LocalCluster cluster, TopicDescription topic, Path text)
      throws IOException, InterruptedException {
    Path copy = cluster.home().directory().resolve("quickstart").resolve("read-back.tsv");
    List<TopicPartition> partitions =
        topic.partitions().stream()
            .map(partition -> new TopicPartition(topic.name(), partition.partition()))
            .toList();
    var ends = new HashMap<TopicPartition, Long>();
    Calls.await(client.admin().listOffsets(partitions, OffsetSpec.latest()), REQUEST_TIMEOUT)
        .forEach((partition, end) -> ends.put(partition, end.offset()));
    var comparison = new KeyedComparison();
    var parser = new KeyedLine.Parser("\t");
    try (InputStream in = Files.newInputStream(text)) {
      var reader = new LineReader(in, MAX_LINE_BYTES);
      for (byte[] line = reader.next(); line != null; line = reader.next()) {
        KeyedLine keyed = parser.parse(line, reader.lineNumber());
        comparison.expect(text(keyed.key()), text(keyed.value()));
      }
    }
    RecordFormat lines = RecordFormat.parse("key-value", "\t");
    RecordFormat compared =
        (record, out) -> {
          comparison.got(text(record.key()), text(record.value()));
          lines.write(record, out);
        };
    try (Reader reader = client.reader(new ReaderConfig().withPrefetchRecords(PREFETCH_RECORDS));
        OutputStream out = new BufferedOutputStream(Files.newOutputStream(copy))) {
      reader.assign(partitions);
      reader.seekToEarliest(partitions);
      new ConsumeRun(reader, compared, out, new ConsumeRun.Limits(ends, 0, READ_IDLE_LIMIT))
          .run(root.progress());
    }
    KeyedComparison.Result result = comparison.result();
    say("read back: %s records, written to %s", Words.count(result.got()), copy);
    return result;
  }

  private static String text(byte[] bytes) {
    return bytes == null ? "" : new String(bytes, StandardCharsets.UTF_8);
  }

  private int verdict(TopicDescription topic, int victim, KeyedComparison.Result result) {
    say(
        "compared with the file: %s missing, %s twice, %s out of order, %s foreign -> %s",
        Words.count(result.missing()),
        Words.count(result.doubled()),
        Words.count(result.outOfOrder()),
        Words.count(result.foreign()),
        result.same() ? "the same" : "NOT THE SAME");
    if (root.output().form() == Output.Form.table) {
      hints(topic.name(), victim);
    } else {
      var fields = new LinkedHashMap<String, Object>();
      fields.put("topic", topic.name());
      fields.put("killedBroker", victim);
      fields.put("lines", result.expected());
      fields.put("read", result.got());
      fields.put("missing", result.missing());
      fields.put("doubled", result.doubled());
      fields.put("outOfOrder", result.outOfOrder());
      fields.put("foreign", result.foreign());
      fields.put("seconds", seconds());
      root.output().fields(fields);
    }
    return result.same() ? ExitCodes.OK : ExitCodes.FAILED;
  }

  private void hints(String topic, int victim) {
    root.output().say("\nThe cluster stays up. What to try next:");
    hint("cluster status", "brokers, leaders, lags, health");
    hint("consume " + topic + " --max 5 --format '%p:%o %k %v'", "some records with their places");
    hint("topic describe " + topic, "its settings, and what they promise");
    hint("load --duration 60s", "traffic that checks itself, while you, elsewhere,");
    hint("cluster kill " + victim, "hurt it; also: start, pause, resume");
    hint("cluster down", "stop it");
  }

  private void hint(String command, String what) {
    root.output().say(String.format("  bin/millrace %-58s %s", command, what));
  }

  private void say(String format, Object... values) {
    root.output().say(String.format("%6.1f s  %s", seconds(), String.format(format, values)));
  }

  private double seconds() {
    return (System.nanoTime() - startNanos) / 1e9;
  }
}
