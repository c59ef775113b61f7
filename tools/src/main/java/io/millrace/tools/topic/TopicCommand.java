package io.millrace.tools.topic;

import io.millrace.client.Admin;
import io.millrace.client.MillraceClient;
import io.millrace.client.TopicDescription;
import io.millrace.client.TopicSpec;
import io.millrace.protocol.error.MillraceException;
import io.millrace.tools.Calls;
import io.millrace.tools.ConnectOptions;
import io.millrace.tools.ExitCodes;
import io.millrace.tools.MillraceCommand;
import io.millrace.tools.Output.Rows;
import io.millrace.tools.Words;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code millrace topic ...}. */
@Command(
    name = "topic",
    description = "Create, list, describe, alter, measure and delete topics, and delete records.",
    subcommands = {
      TopicCommand.Create.class,
      TopicCommand.ListTopics.class,
      TopicCommand.Describe.class,
      SizesCommand.class,
      AlterCommand.class,
      TopicCommand.Delete.class,
      DeleteRecordsCommand.class
    })
public final class TopicCommand implements Runnable {
  @Spec private CommandSpec spec;

  @Override
  public void run() {
    throw new ParameterException(spec.commandLine(), "a command is missing after 'topic'");
  }

  private abstract static class WithAdmin implements Callable<Integer> {
    final MillraceCommand root;

    @Mixin private ConnectOptions connect;

    WithAdmin(MillraceCommand root) {
      this.root = root;
    }

    final <T> T ask(Function<Admin, CompletableFuture<T>> question) throws InterruptedException {
      try (MillraceClient client = connect.connect(root)) {
        return Calls.await(question.apply(client.admin()), connect.requestTimeout());
      }
    }

    /** As {@link #ask}, about a topic that must exist. */
    final <T> T askAbout(String topic, Function<Admin, CompletableFuture<T>> question)
        throws InterruptedException {
      try (MillraceClient client = connect.connect(root)) {
        try {
          return Calls.await(question.apply(client.admin()), connect.requestTimeout());
        } catch (MillraceException e) {
          throw Topics.explained(e, client.admin(), topic, connect.requestTimeout());
        }
      }
    }
  }

  @Command(name = "create", description = "Create a topic and wait until it has its leaders.")
  static final class Create extends WithAdmin {
    @Parameters(paramLabel = "TOPIC", description = "Name of the topic")
    private String topic;

    @Mixin private TopicSettingsOptions settings;

    Create(MillraceCommand root) {
      super(root);
    }

    @Override
    public Integer call() throws InterruptedException {
      TopicSpec spec = settings.spec(topic);
      root.output().fields(described(ask(admin -> admin.createTopic(spec))));
      return ExitCodes.OK;
    }
  }

  @Command(name = "list", description = "List the topics.")
  static final class ListTopics extends WithAdmin {
    ListTopics(MillraceCommand root) {
      super(root);
    }

    @Override
    public Integer call() throws InterruptedException {
      var rows = new Rows(List.of("topic", "partitions", "replicas", "fsync"));
      for (TopicDescription topic : ask(Topics::all)) {
        rows.add(
            topic.name(), topic.partitions().size(), topic.replicas(), Words.of(topic.fsync()));
      }
      root.output().rows(rows);
      return ExitCodes.OK;
    }
  }

  @Command(
      name = "describe",
      description = "Show a topic: its settings, what they promise, and its partitions.")
  static final class Describe extends WithAdmin {
    @Parameters(paramLabel = "TOPIC", description = "Name of the topic")
    private String topic;

    Describe(MillraceCommand root) {
      super(root);
    }

    @Override
    public Integer call() throws InterruptedException {
      root.output().fields(described(askAbout(topic, admin -> admin.describeTopic(topic))));
      return ExitCodes.OK;
    }
  }

  @Command(name = "delete", description = "Delete a topic and all its records, for good.")
  static final class Delete extends WithAdmin {
    @Parameters(paramLabel = "TOPIC", description = "Name of the topic")
    private String topic;

    Delete(MillraceCommand root) {
      super(root);
    }

    @Override
    public Integer call() throws InterruptedException {
      askAbout(topic, admin -> admin.deleteTopic(topic));
      root.progress().step("topic " + topic + " deleted");
      return ExitCodes.OK;
    }
  }

  private static Long orNull(long limit) {
    return limit == 0 ? null : limit;
  }

  static Map<String, Object> described(TopicDescription topic) {
    var fields = new LinkedHashMap<String, Object>();
    fields.put("topic", topic.name());
    fields.put("id", topic.id().toString());
    fields.put("replicas", topic.replicas());
    fields.put("fsync", Words.of(topic.fsync()));
    fields.put("fsyncIntervalMillis", topic.fsyncIntervalMillis());
    fields.put("segmentBytes", topic.segmentBytes());
    fields.put("maxRecordBytes", topic.maxRecordBytes());
    fields.put("retentionMillis", orNull(topic.retentionMillis()));
    fields.put("retentionBytes", orNull(topic.retentionBytes()));
    fields.put("segmentMillis", orNull(topic.segmentMillis()));
    fields.put("promise", topic.durability());
    fields.put("records", Lifetime.of(topic));
    var rows = new Rows(List.of("partition", "leader", "term", "replicas"));
    topic
        .partitions()
        .forEach(
            partition ->
                rows.add(
                    partition.partition(),
                    partition.leader() == 0 ? null : partition.leader(),
                    partition.term(),
                    partition.replicas().stream().map(TopicDescription.Replica::broker).toList()));
    fields.put("partitions", rows);
    return fields;
  }
}
