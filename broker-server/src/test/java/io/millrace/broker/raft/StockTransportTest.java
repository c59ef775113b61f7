package io.millrace.broker.raft;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.alipay.sofa.jraft.util.RpcFactoryHelper;
import io.millrace.broker.raft.transport.PeerRpcFactory;
import io.netty.util.Version;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.ZipFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * JRaft's stock transport (Bolt), its serialiser (Hessian) and the old Netty that Bolt brings are
 * not on the class path: they would be a second, unauthenticated way in, and code that deserialises
 * what strangers send. That JRaft runs without them is what every test with a broker shows.
 */
class StockTransportTest {

  private static final List<String> UNWANTED =
      List.of("com/alipay/remoting/", "com/caucho/", "com/alipay/hessian/", "com/alipay/sofa/rpc/");

  private static List<Path> classPath() {
    List<Path> entries = new ArrayList<>();
    for (String entry : System.getProperty("java.class.path").split(File.pathSeparator)) {
      if (!entry.isEmpty() && Files.exists(Path.of(entry))) {
        entries.add(Path.of(entry));
      }
    }
    return entries;
  }

  @Test
  void noJarHoldsThem() throws IOException {
    List<String> found = new ArrayList<>();
    boolean jraft = false;
    for (Path entry : classPath()) {
      if (Files.isDirectory(entry)) {
        for (String unwanted : UNWANTED) {
          if (Files.exists(entry.resolve(unwanted))) {
            found.add(entry + ": " + unwanted);
          }
        }
        continue;
      }
      try (ZipFile jar = new ZipFile(entry.toFile())) {
        jraft |= jar.getEntry("com/alipay/sofa/jraft/Node.class") != null;
        jar.stream()
            .filter(file -> UNWANTED.stream().anyMatch(file.getName()::startsWith))
            .forEach(file -> found.add(entry.getFileName() + ": " + file.getName()));
      }
    }
    assertThat(found).isEmpty();
    // Else the walk has looked at something else than the class path of the broker.
    assertThat(jraft).isTrue();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "com.alipay.remoting.rpc.RpcServer",
        "com.alipay.remoting.rpc.RpcClient",
        "com.alipay.remoting.serialization.HessianSerializer",
        "com.caucho.hessian.io.HessianInput",
        "com.caucho.hessian.io.Hessian2Input"
      })
  void theirClassesCannotBeLoaded(String name) {
    assertThatThrownBy(() -> Class.forName(name)).isInstanceOf(ClassNotFoundException.class);
  }

  /** Bolt's netty-all 4.1.42 would show as parts of another version, or as a second Netty. */
  @Test
  void thereIsOneNetty() throws IOException {
    assertThat(Version.identify().values())
        .isNotEmpty()
        .extracting(Version::artifactVersion)
        .allMatch(version -> version.startsWith("4.2."))
        .containsOnly(Version.identify().get("netty-common").artifactVersion());
    List<String> nettys = new ArrayList<>();
    for (Path entry : classPath()) {
      if (!Files.isDirectory(entry)) {
        try (ZipFile jar = new ZipFile(entry.toFile())) {
          if (jar.getEntry("io/netty/channel/Channel.class") != null) {
            nettys.add(entry.getFileName().toString());
          }
        }
      }
    }
    assertThat(nettys).hasSize(1);
  }

  @Test
  void jraftTalksThroughOurs() {
    JRaftRuntime.ensureStarted();
    assertThat(RpcFactoryHelper.rpcFactory()).isInstanceOf(PeerRpcFactory.class);
  }
}
