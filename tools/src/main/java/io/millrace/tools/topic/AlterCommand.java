package io.millrace.tools.topic;

import io.millrace.client.MillraceClient;
import io.millrace.client.TopicChange;
import io.millrace.protocol.error.MillraceException;
import io.millrace.tools.Calls;
import io.millrace.tools.ConnectOptions;
import io.millrace.tools.ExitCodes;
import io.millrace.tools.MillraceCommand;
import io.millrace.tools.Quantities;
import io.millrace.tools.UsageFailure;
import java.time.Duration;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code millrace topic alter}. */
@Command(
    name = "alter",
    description = {
      "Change how long and how much a topic keeps; 0 takes a limit away.",
      "Segments become smaller by themselves where a new limit needs it."
    })
final class AlterCommand implements Callable<Integer> {

  private final MillraceCommand root;

  @Mixin private ConnectOptions connect;

  @Parameters(paramLabel = "TOPIC", description = "Name of the topic")
  private String topic;

  @Option(
      names = "--retention-time",
      paramLabel = "TIME",
      converter = Quantities.DurationConverter.class,
      description = "Age at which records go, as in 7d; 0 = never")
  private Duration retentionTime;

  @Option(
      names = "--retention-bytes",
      paramLabel = "SIZE",
      converter = Quantities.BytesConverter.class,
      description = "Bytes that each partition may hold on each of its replicas; 0 = any number")
  private Long retentionBytes;

  @Option(
      names = "--segment-bytes",
      paramLabel = "SIZE",
      converter = Quantities.BytesConverter.class,
      description = "Size at which a new segment file is begun")
  private Long segmentBytes;

  @Option(
      names = "--segment-time",
      paramLabel = "TIME",
      converter = Quantities.DurationConverter.class,
      description = "Time after which a new segment file is begun; 0 = only by size")
  private Duration segmentTime;

  AlterCommand(MillraceCommand root) {
    this.root = root;
  }

  @Override
  public Integer call() throws InterruptedException {
    if (retentionTime == null
        && retentionBytes == null
        && segmentBytes == null
        && segmentTime == null) {
      throw new UsageFailure(
          "nothing to change: give --retention-time, --retention-bytes, --segment-bytes or"
              + " --segment-time");
    }
    TopicChange change =
        new TopicChange(
            retentionTime == null ? null : retentionTime.toMillis(),
            retentionBytes,
            segmentBytes,
            segmentTime == null ? null : segmentTime.toMillis());
    try (MillraceClient client = connect.connect(root)) {
      try {
        root.output()
            .fields(
                TopicCommand.described(
                    Calls.await(
                        client.admin().alterTopic(topic, change), connect.requestTimeout())));
      } catch (MillraceException e) {
        throw Topics.explained(e, client.admin(), topic, connect.requestTimeout());
      }
    }
    return ExitCodes.OK;
  }
}
