package io.millrace.tools.local;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.millrace.broker.ClusterSecretFile;
import io.millrace.tools.ExitCodes;
import io.millrace.tools.TestTerminal;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class BrokerFormatTest {
  @TempDir private Path directory;

  private Path config(String... lines) throws IOException {
    return Files.write(directory.resolve("broker.properties"), java.util.List.of(lines));
  }

  private TestTerminal.Finished format(Path config) {
    return new TestTerminal(directory.resolve("home"))
        .run("broker", "format", "--config", config.toString(), "--cluster-id", "c1");
  }

  @Test
  void makesTheDirectoryOnce() throws IOException {
    Path data = directory.resolve("data");
    Path secret = directory.resolve("secret");
    Path config =
        config(
            "broker.id=2",
            "data.dir=" + data,
            "cluster.brokers=1@a:1,2@b:2, 3@c:3",
            "cluster.secret.file=" + secret);

    TestTerminal.Finished first = format(config);
    TestTerminal.Finished second = format(config);

    assertThat(first.exitCode()).as(first.err()).isEqualTo(ExitCodes.OK);
    assertThat(first.out()).contains("c1", data.toString(), secret.toString(), "new");
    assertThat(first.err()).contains("copy " + secret + " to the other brokers");
    assertThat(Files.readString(secret)).hasSize(65);
    assertThat(data.resolve("broker.id")).exists();
    assertThat(second.exitCode()).isEqualTo(ExitCodes.FAILED);
    assertThat(second.err()).contains(data + " is formatted already");
    assertThat(second.errorLines()).hasSize(1);
  }

  @Test
  void takesTheSecretThatIsThere() throws IOException {
    Path secret = directory.resolve("secret");
    ClusterSecretFile.makeIfMissing(secret);
    String text = Files.readString(secret);

    TestTerminal.Finished formatted =
        format(
            config(
                "broker.id=2",
                "data.dir=" + directory.resolve("data"),
                "cluster.brokers=1@a:1,2@b:2,3@c:3",
                "cluster.secret.file=" + secret));

    assertThat(formatted.exitCode()).as(formatted.err()).isEqualTo(ExitCodes.OK);
    assertThat(formatted.out()).contains("the one that was there").doesNotContain(text.strip());
    assertThat(formatted.err()).doesNotContain("copy ");
    assertThat(secret).hasContent(text.strip());
  }

  @Test
  void withoutASecretFileNothingIsMade() throws IOException {
    Path data = directory.resolve("data");
    TestTerminal.Finished refused =
        format(config("broker.id=2", "data.dir=" + data, "cluster.brokers=1@a:1,2@b:2,3@c:3"));

    assertThat(refused.exitCode()).isEqualTo(ExitCodes.FAILED);
    assertThat(refused.err()).contains("cluster.secret.file is missing; add a line");
    assertThat(data).doesNotExist();

    Path wrong = Files.writeString(directory.resolve("wrong"), "x");
    TestTerminal.Finished unreadable =
        format(
            config(
                "broker.id=2",
                "data.dir=" + data,
                "cluster.brokers=1@a:1,2@b:2,3@c:3",
                "cluster.secret.file=" + wrong));

    assertThat(unreadable.errorLines()).hasSize(1);
    assertThat(unreadable.err()).contains(wrong.toString());
    assertThat(data).doesNotExist();
  }

  @Test
  void aBrokerThatIsItsWholeClusterNeedsNoSecret() throws IOException {
    TestTerminal.Finished alone =
        format(
            config(
                "broker.id=2",
                "data.dir=" + directory.resolve("data"),
                "cluster.brokers=2@127.0.0.1:2"));

    assertThat(alone.exitCode()).as(alone.err()).isEqualTo(ExitCodes.OK);
  }

  @Test
  void whatIsMissingIsNamed() throws IOException {
    assertThat(format(config("broker.id=2")).err()).contains("data.dir is missing");
    assertThat(format(config("broker.id=x", "data.dir=d")).err())
        .contains("broker.id=x is not a whole number from 1 on");
    assertThat(
            format(config("broker.id=2", "data.dir=d", "cluster.brokers=1@a:1,3@c:3,4@d:4")).err())
        .contains("broker.id=2 is not among cluster.brokers=1@a:1,3@c:3,4@d:4");
    assertThat(format(config("broker.id=2", "data.dir=d", "cluster.brokers=a:1")).err())
        .contains("'a:1' is not id@host:port");
  }

  @Test
  void idsOfClusterBrokers() {
    assertThat(BrokerFormat.ids("1@a:1, 20@[::1]:65535")).containsExactly(1, 20);
    assertThatThrownBy(() -> BrokerFormat.ids("0@a:1"))
        .hasMessageContaining("'0@a:1' is not id@host:port");
  }
}
