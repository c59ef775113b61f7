package io.millrace.tools.local;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

class BrokerJvmTest {
  private static List<String> command(int feature) {
    return BrokerJvm.command(
        Path.of("/jdk/bin/java"),
        feature,
        "a.jar:b.jar",
        "512m",
        List.of("-Dx=y"),
        Path.of("/home/broker.properties"));
  }

  @Test
  void theUsersOptionsComeLastSoThatTheyWin() {
    assertThat(command(17))
        .startsWith("/jdk/bin/java", "-Xmx512m")
        .contains("-Dcom.google.protobuf.use_unsafe_pre22_gencode=true")
        .endsWith(
            "-Dx=y",
            "-cp",
            "a.jar:b.jar",
            "io.millrace.broker.BrokerMain",
            "--config",
            "/home/broker.properties");
  }

  @Test
  void optionsThatAnOlderJavaRefusesAreForNewerOnes() {
    assertThat(command(17)).noneMatch(option -> option.startsWith("--enable"));
    assertThat(command(22)).contains("--enable-native-access=ALL-UNNAMED");
    assertThat(command(25)).contains("--sun-misc-unsafe-memory-access=allow");
  }
}
