package io.millrace.tools.load;

import io.millrace.client.Admin;
import io.millrace.client.MillraceClient;
import io.millrace.client.OffsetSpec;
import io.millrace.client.Producer;
import io.millrace.client.Reader;
import io.millrace.client.ReaderConfig;
import io.millrace.client.TopicPartition;
import io.millrace.tools.BrokerWatch;
import io.millrace.tools.Calls;
import io.millrace.tools.ConnectOptions;
import io.millrace.tools.ExitCodes;
import io.millrace.tools.Interrupts;
import io.millrace.tools.MillraceCommand;
import io.millrace.tools.Quantities;
import io.millrace.tools.UsageFailure;
import io.millrace.tools.records.ProducerOptions;
import io.millrace.tools.topic.TopicSettingsOptions;
import io.millrace.tools.topic.Topics;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code millrace load}: traffic that checks itself, to be run while brokers are hurt. */
@Command(
    name = "load",
    description = {
      "Send counters under many keys, read them back, and compare: nothing acknowledged may be"
          + " lost, doubled, changed, or out of order.",
      "Goes on while brokers fail; ends after --duration or with Ctrl-C. Exit code 1 when anything"
          + " was wrong or could not be checked."
    })
public final class LoadCommand implements Callable<Integer> {
  private static final int DEFAULT_PARTITIONS = 12;
  private static final int MOST_REPLICAS = 3;
  private static final int LIVE_INTERVAL_MILLIS = 1_000;
  private static final int PREFETCH_RECORDS = 20_000;
  private static final int POLL_RECORDS = 2_000;
  private static final int RUN_NAME_LENGTH = 8;
  private static final long MAX_BLOCK_MILLIS = 1_000;
  private static final long INTERRUPT_GRACE_MILLIS = 10_000;
  private static final long STOP_MILLIS = 300;

  private final MillraceCommand root;

  @Mixin private ConnectOptions connect;
  @Mixin private ProducerOptions producerOptions;
  @Mixin private TopicSettingsOptions topicSettings;

  @Parameters(
      paramLabel = "TOPIC",
      arity = "0..1",
      defaultValue = "load",
      description = "Topic to use; made when it does not exist. Default: load")
  private String topic;

  @Option(
      names = "--rate",
      paramLabel = "N",
      defaultValue = "1000",
      description = "Records per second; 0: as many as are taken. Default: 1000")
  private double rate;

  @Option(
      names = "--keys",
      paramLabel = "N",
      defaultValue = "1000",
      description = "Number of keys, each a counter. Default: 1000")
  private int keys;

  @Option(
      names = "--size",
      paramLabel = "SIZE",
      defaultValue = "100",
      converter = Quantities.BytesConverter.class,
      description = "Bytes of a value. Default: 100")
  private Long size;

  @Option(
      names = "--verify",
      negatable = true,
      defaultValue = "true",
      fallbackValue = "true",
      description = "Read everything back and compare. On unless --no-verify")
  private boolean verify;

  @Option(
      names = "--duration",
      paramLabel = "TIME",
      converter = Quantities.DurationConverter.class,
      description = "How long to send. Default: until Ctrl-C")
  private Duration duration;

  @Option(
      names = "--drain-timeout",
      paramLabel = "TIME",
      defaultValue = "60s",
      converter = Quantities.DurationConverter.class,
      description = "How long the reading of the rest may take at the end. Default: 60s")
  private Duration drainTimeout;

  LoadCommand(MillraceCommand root) {
    this.root = root;
  }

  @Override
  public Integer call() throws InterruptedException {
    requireSense();
    try (MillraceClient client = connect.connect(root)) {
      List<TopicPartition> partitions = ensureTopic(client.admin());
      Map<Integer, Long> starts = ends(client.admin(), partitions);
      var records =
          new LoadRecords(
              UUID.randomUUID().toString().substring(0, RUN_NAME_LENGTH),
              topic,
              Math.toIntExact(size));
      var verifier = new LoadVerifier(keys);
      starts.forEach(verifier::startsAt);
      var run = new LoadRun(records, verifier, keys, rate);
      var watch = new BrokerWatch(() -> client.admin().describeCluster(), Instant::now);
      var report = new LoadReport(root, run, verifier, watch, verify);
      try (var interrupts = new Interrupts(run::interrupt, INTERRUPT_GRACE_MILLIS)) {
        traffic(client, run, report, partitions, starts);
        report.end();
        return interrupts.finished(report.good() ? ExitCodes.OK : ExitCodes.FAILED);
      }
    }
  }

  private void traffic(
      MillraceClient client,
      LoadRun run,
      LoadReport report,
      List<TopicPartition> partitions,
      Map<Integer, Long> starts)
      throws InterruptedException {
    ExecutorService threads = Executors.newFixedThreadPool(2);
    try (Producer producer = client.producer(producerOptions.config(connect.requestTimeout()));
        Reader reader =
            client.reader(
                new ReaderConfig()
                    .withPrefetchRecords(PREFETCH_RECORDS)
                    .withMaxPollRecords(POLL_RECORDS))) {
      try {
        reader.assign(partitions);
        partitions.forEach(partition -> reader.seek(partition, starts.get(partition.partition())));
        Future<Void> sending =
            threads.submit(
                () -> {
                  run.send(producer, MAX_BLOCK_MILLIS);
                  return null;
                });
        Future<?> reading = verify ? threads.submit(() -> run.read(reader, starts)) : null;
        var ending = new LoadEnding(run, report);
        watch(sending, reading, run, report);
        ending.decide(sending, producer, producerOptions.deliveryTimeout().plusSeconds(10));
        if (reading != null) {
          ending.drain(
              reading,
              () -> client.admin().listOffsets(partitions, OffsetSpec.latest()),
              drainTimeout);
        }
      } finally {
        // The threads end before what they use is closed.
        run.stopSending();
        run.stopReading();
        reader.wakeup();
        threads.shutdown();
        if (!threads.awaitTermination(STOP_MILLIS, TimeUnit.MILLISECONDS)) {
          threads.shutdownNow();
        }
      }
    }
  }

  /** A live line each second until it is time to stop. */
  private void watch(Future<?> sending, Future<?> reading, LoadRun run, LoadReport report)
      throws InterruptedException {
    long startNanos = System.nanoTime();
    while (!sending.isDone() && (reading == null || !reading.isDone()) && !run.stopped()) {
      long waitMillis = LIVE_INTERVAL_MILLIS;
      if (duration != null) {
        long left = duration.toNanos() - (System.nanoTime() - startNanos);
        if (left <= 0) {
          break;
        }
        waitMillis = Math.min(waitMillis, Math.max(1, TimeUnit.NANOSECONDS.toMillis(left)));
      }
      run.awaitInterrupt(waitMillis);
      report.live();
    }
    run.stopSending();
  }

  private void requireSense() {
    topicSettings.requireSense();
    if (keys < 1) {
      throw new UsageFailure("--keys " + keys + " is below 1; give at least one key");
    }
    if (rate < 0) {
      throw new UsageFailure("--rate " + rate + " is below 0; 0 means as many as are taken");
    }
    if (size < 1 || size > 16 * 1024 * 1024) {
      throw new UsageFailure("--size " + size + " is not in 1 to 16777216 bytes");
    }
  }

  private List<TopicPartition> ensureTopic(Admin admin) throws InterruptedException {
    return Topics.ensure(
            admin,
            topic,
            brokers ->
                topicSettings.spec(
                    topic, DEFAULT_PARTITIONS, brokers >= MOST_REPLICAS ? MOST_REPLICAS : 1),
            connect.requestTimeout())
        .partitions()
        .stream()
        .map(partition -> new TopicPartition(topic, partition.partition()))
        .toList();
  }

  private Map<Integer, Long> ends(Admin admin, List<TopicPartition> partitions)
      throws InterruptedException {
    var ends = new HashMap<Integer, Long>();
    Calls.await(admin.listOffsets(partitions, OffsetSpec.latest()), connect.requestTimeout())
        .forEach((partition, end) -> ends.put(partition.partition(), end.offset()));
    return ends;
  }
}
