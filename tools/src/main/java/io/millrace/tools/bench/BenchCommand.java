package io.millrace.tools.bench;

import io.millrace.client.MillraceClient;
import io.millrace.client.OffsetSpec;
import io.millrace.client.Producer;
import io.millrace.client.Reader;
import io.millrace.client.ReaderConfig;
import io.millrace.client.TopicDescription;
import io.millrace.client.TopicPartition;
import io.millrace.tools.Calls;
import io.millrace.tools.CommandFailure;
import io.millrace.tools.ConnectOptions;
import io.millrace.tools.ExitCodes;
import io.millrace.tools.Interrupts;
import io.millrace.tools.MillraceCommand;
import io.millrace.tools.Quantities;
import io.millrace.tools.UsageFailure;
import io.millrace.tools.Words;
import io.millrace.tools.bench.failover.FailoverCommand;
import io.millrace.tools.bench.partitions.PartitionsCommand;
import io.millrace.tools.records.ProducerOptions;
import io.millrace.tools.topic.TopicSettingsOptions;
import io.millrace.tools.topic.Topics;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code millrace bench ...}: rates and latencies, outages, and what partitions cost. */
@Command(
    name = "bench",
    description = "Measure rates and latencies, outages, and what partitions cost.",
    subcommands = {
      BenchCommand.Produce.class,
      BenchCommand.Consume.class,
      FailoverCommand.class,
      PartitionsCommand.class
    })
public final class BenchCommand implements Runnable {
  private static final int DEFAULT_PARTITIONS = 12;
  private static final int MOST_REPLICAS = 3;
  private static final long INTERRUPT_GRACE_MILLIS = 10_000;

  @Spec private CommandSpec spec;

  @Override
  public void run() {
    throw new ParameterException(spec.commandLine(), "a command is missing after 'bench'");
  }

  /** What both directions have. */
  private abstract static class Bench implements Callable<Integer> {
    final MillraceCommand root;

    @Mixin ConnectOptions connect;

    @Parameters(
        paramLabel = "TOPIC",
        arity = "0..1",
        defaultValue = "bench",
        description = "Topic to use. Default: bench")
    String topic;

    @Option(
        names = "--warm-up",
        paramLabel = "SHARE",
        defaultValue = "0.2",
        description = "Share of the records, 0 to below 1, that is not measured. Default: 0.2")
    double warmUp;

    Bench(MillraceCommand root) {
      this.root = root;
    }

    final SteadyWindow window(long records) {
      if (!(warmUp >= 0 && warmUp < 1)) {
        throw new UsageFailure("--warm-up " + warmUp + " is not in 0 to below 1");
      }
      if (records < 1) {
        throw new UsageFailure("--records " + records + " is below 1");
      }
      return new SteadyWindow((long) (records * warmUp));
    }

    final Map<String, Object> fields(String what, SteadyWindow.Result result) {
      var fields = new LinkedHashMap<String, Object>();
      fields.put("bench", what);
      fields.put("topic", topic);
      fields.put("warmUpRecords", result.warmUpRecords());
      fields.put("records", result.records());
      fields.put("failed", result.failed());
      fields.put("seconds", result.seconds());
      fields.put("recordsPerSecond", result.recordsPerSecond());
      fields.put("mibPerSecond", result.mibPerSecond());
      fields.put("p50Millis", result.p50Millis());
      fields.put("p95Millis", result.p95Millis());
      fields.put("p99Millis", result.p99Millis());
      fields.put("p999Millis", result.p999Millis());
      fields.put("maxMillis", result.maxMillis());
      return fields;
    }
  }

  @Command(
      name = "produce",
      description = {
        "Send records of random bytes and time their acknowledgements.",
        "Without --rate as fast as the buffer allows, latency from the call of send; with --rate"
            + " from the moment the record was due."
      })
  static final class Produce extends Bench {
    @Mixin private ProducerOptions producerOptions;
    @Mixin private TopicSettingsOptions topicSettings;

    @Option(
        names = "--records",
        paramLabel = "N",
        defaultValue = "1000000",
        description = "Records to send. Default: 1000000")
    private long records;

    @Option(
        names = "--size",
        paramLabel = "SIZE",
        defaultValue = "1k",
        converter = Quantities.BytesConverter.class,
        description = "Bytes of a value. Default: 1k")
    private Long size;

    @Option(
        names = "--rate",
        paramLabel = "N",
        description = "Records per second. Default: as fast as possible")
    private double rate;

    Produce(MillraceCommand root) {
      super(root);
    }

    @Override
    public Integer call() throws InterruptedException {
      topicSettings.requireSense();
      SteadyWindow window = window(records);
      if (size < 0 || size > 16 * 1024 * 1024) {
        throw new UsageFailure("--size " + size + " is not in 0 to 16777216 bytes");
      }
      if (rate < 0) {
        throw new UsageFailure("--rate " + rate + " is below 0; leave it out for full speed");
      }
      var values = new Values(Math.toIntExact(size));
      try (MillraceClient client = connect.connect(root)) {
        TopicDescription target =
            Topics.ensure(
                client.admin(),
                topic,
                brokers ->
                    topicSettings.spec(
                        topic, DEFAULT_PARTITIONS, brokers >= MOST_REPLICAS ? MOST_REPLICAS : 1),
                connect.requestTimeout());
        topicSettings.requireSame(target);
        try (Producer producer =
            client.producer(producerOptions.config(connect.requestTimeout()))) {
          var bench =
              new ProduceBench(
                  producer,
                  topic,
                  records,
                  values,
                  rate,
                  producerOptions.deliveryTimeout().toMillis(),
                  window);
          return run(bench, window, target);
        }
      }
    }

    private int run(ProduceBench bench, SteadyWindow window, TopicDescription target)
        throws InterruptedException {
      try (var interrupts = new Interrupts(bench::stop, INTERRUPT_GRACE_MILLIS)) {
        bench.run(root.progress());
        SteadyWindow.Result result = window.result();
        Map<String, Object> fields = fields("produce", result);
        fields.put("valueBytes", size);
        fields.put("partitions", target.partitions().size());
        fields.put("replicas", target.replicas());
        fields.put("fsync", Words.of(target.fsync()));
        fields.put("batchBytes", producerOptions.batchBytes());
        fields.put("lingerMillis", producerOptions.linger().toMillis());
        fields.put("compression", producerOptions.compression().toString());
        fields.put("rate", rate);
        fields.put("errors", bench.outcomes().failureRows());
        root.output().fields(fields);
        if (result.failed() > 0) {
          throw new CommandFailure(
              Words.count(result.failed(), "record")
                  + " failed, so the figures are not those of a healthy cluster");
        }
        return interrupts.finished(ExitCodes.OK);
      }
    }
  }

  @Command(name = "consume", description = "Read a topic from its beginning and time it.")
  static final class Consume extends Bench {
    @Option(
        names = "--records",
        paramLabel = "N",
        description = "Records to read. Default: all that are there")
    private Long records;

    @Option(
        names = "--prefetch",
        paramLabel = "N",
        defaultValue = "100000",
        description = "Records fetched ahead. Default: 100000")
    private int prefetch;

    Consume(MillraceCommand root) {
      super(root);
    }

    @Override
    public Integer call() throws InterruptedException {
      try (MillraceClient client = connect.connect(root)) {
        List<TopicPartition> partitions =
            Topics.existing(client.admin(), topic, connect.requestTimeout()).partitions().stream()
                .map(partition -> new TopicPartition(topic, partition.partition()))
                .toList();
        long there = count(client, partitions);
        long wanted = records == null ? there : records;
        if (wanted > there || there == 0) {
          throw new CommandFailure(
              "topic "
                  + topic
                  + " has "
                  + Words.count(there, "record")
                  + (records == null ? "" : ", fewer than --records " + records)
                  + "; fill it with: millrace bench produce "
                  + topic);
        }
        SteadyWindow window = window(wanted);
        var config =
            new ReaderConfig().withPrefetchRecords(prefetch).withMaxPollRecords(prefetch / 4 + 1);
        try (Reader reader = client.reader(config)) {
          reader.assign(partitions);
          var bench = new ConsumeBench(reader, wanted, connect.requestTimeout(), window);
          try (var interrupts = new Interrupts(bench::stop, INTERRUPT_GRACE_MILLIS)) {
            bench.run(root.progress());
            root.output().fields(fields("consume", window.result()));
            return interrupts.finished(ExitCodes.OK);
          }
        }
      }
    }

    private long count(MillraceClient client, List<TopicPartition> partitions)
        throws InterruptedException {
      long latest = sum(client, partitions, OffsetSpec.latest());
      return latest - sum(client, partitions, OffsetSpec.earliest());
    }

    private long sum(MillraceClient client, List<TopicPartition> partitions, OffsetSpec spec)
        throws InterruptedException {
      return Calls.await(client.admin().listOffsets(partitions, spec), connect.requestTimeout())
          .values()
          .stream()
          .mapToLong(found -> found.offset())
          .sum();
    }
  }
}
