package io.millrace.broker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.millrace.broker.cluster.LocalBroker;
import io.millrace.broker.log.DirectDisk;
import io.millrace.broker.log.Disk;
import io.millrace.broker.log.DiskFile;
import io.millrace.broker.log.WriteBuffers;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(30)
class DataDirectoryTest {

  @TempDir Path parent;

  private Path dir;
  private TestDisk disk;

  @BeforeEach
  void setUp() {
    dir = parent.resolve("nested").resolve("b1");
    disk = new TestDisk();
  }

  private LocalBroker format() {
    return DataDirectory.format(disk, dir, "shop", 1, List.of(3, 1, 2));
  }

  private DataDirectory open() {
    return DataDirectory.open(disk, dir, 1, "");
  }

  private Map<String, String> content() throws IOException {
    Map<String, String> content = new TreeMap<>();
    try (Stream<Path> files = Files.walk(dir)) {
      for (Path file : files.filter(Files::isRegularFile).toList()) {
        content.put(dir.relativize(file).toString(), Files.readString(file));
      }
    }
    return content;
  }

  private void refusesChangingNothing(String message) throws IOException {
    Map<String, String> before = content();
    assertThatThrownBy(this::open)
        .isInstanceOf(DataDirectoryException.class)
        .hasMessageContaining(message);
    assertThat(content()).isEqualTo(before);
  }

  @Test
  void formatMakesWhatOpenReads() {
    LocalBroker formatted = format();
    assertThat(DataDirectory.isFormatted(disk, dir)).isTrue();
    try (DataDirectory opened = open()) {
      assertThat(opened.identity()).isEqualTo(formatted);
      assertThat(opened.identity().clusterId()).isEqualTo("shop");
      assertThat(opened.identity().id()).isEqualTo(1);
      assertThat(opened.bootstrapVoters()).containsExactly(1, 2, 3);
      assertThat(opened.topics()).isEqualTo(dir.resolve("topics"));
      assertThat(opened.raft()).isEqualTo(dir.resolve("raft"));
      assertThat(opened.cleanStop()).isTrue();
      assertThat(opened.previousBootId()).isEmpty();
      assertThat(opened.unsyncedBytesMayBeLost()).isFalse();
    }
  }

  @Test
  void everyFormatIsAnotherIncarnation() {
    LocalBroker first = format();
    dir = parent.resolve("other");
    assertThat(format().incarnation()).isNotEqualTo(first.incarnation());
  }

  @Test
  void formatRefusesADirectoryWithData() throws IOException {
    Files.createDirectories(dir.resolve("topics"));
    Files.writeString(dir.resolve("a"), "x");
    Files.writeString(dir.resolve("b"), "x");
    Files.writeString(dir.resolve("c"), "x");
    assertThatThrownBy(this::format)
        .isInstanceOf(DataDirectoryException.class)
        .hasMessage(
            "data directory "
                + dir
                + " is not empty (a, b, c and 1 more). Nothing was changed; format needs a new or"
                + " empty directory");
    assertThat(content()).containsOnlyKeys("a", "b", "c");
  }

  @Test
  void formatTwiceIsRefused() throws IOException {
    format();
    Map<String, String> before = content();
    assertThatThrownBy(this::format).hasMessageContaining("is not empty (broker.id)");
    assertThat(content()).isEqualTo(before);
  }

  @Test
  void formatChecksItsArguments() {
    assertThatThrownBy(() -> DataDirectory.format(disk, dir, "a b", 1, List.of(1)))
        .hasMessage("cluster id \"a b\" is not 1 to 64 letters, digits, dots, dashes or _");
    assertThatThrownBy(() -> DataDirectory.format(disk, dir, "shop", 0, List.of(1)))
        .hasMessage("broker id 0 is outside 1..65535");
    assertThatThrownBy(() -> DataDirectory.format(disk, dir, "shop", 1, List.of(1, 2)))
        .hasMessage("bootstrap voters [1, 2]: 1, 3 or 5 different broker ids are needed");
    assertThatThrownBy(() -> DataDirectory.format(disk, dir, "shop", 1, List.of(1, 2, 2)))
        .hasMessageContaining("[1, 2, 2]");
    assertThat(dir).doesNotExist();
  }

  @Test
  void aCrashBetweenTheTemporaryFileAndTheRenameLeavesAnEmptyDirectory() {
    disk.failRename = true;
    assertThatThrownBy(this::format)
        .hasMessageContaining("cannot format")
        .hasMessageContaining("rename");
    assertThat(dir.resolve("broker.id.tmp")).exists();
    assertThat(DataDirectory.isFormatted(disk, dir)).isFalse();
    assertThatThrownBy(this::open).hasMessageContaining("is empty; make it with format first");
    disk.failRename = false;
    LocalBroker identity = format();
    try (DataDirectory opened = open()) {
      assertThat(opened.identity()).isEqualTo(identity);
    }
  }

  @Test
  void theIdentityIsSyncedBeforeItGetsItsName() {
    format();
    assertThat(disk.events)
        .containsSubsequence(
            "open broker.id.tmp", "sync broker.id.tmp", "rename broker.id", "sync directory b1");
  }

  @Test
  void openNeedsADirectoryThatWasFormatted() throws IOException {
    assertThatThrownBy(this::open)
        .hasMessage("data directory " + dir + " does not exist; make it with format first");
    Files.createDirectories(dir);
    refusesChangingNothing("data directory " + dir + " is empty; make it with format first");
    assertThat(dir.resolve("lock")).doesNotExist();
  }

  @Test
  void aMissingIdBesideDataIsRefused() throws IOException {
    format();
    Files.createDirectories(dir.resolve("topics"));
    Files.delete(dir.resolve("broker.id"));
    refusesChangingNothing(
        "broker.id is missing beside data in "
            + dir
            + " (topics). Nothing was changed; restore broker.id, or set another data.dir");
  }

  @Test
  void anotherBrokerOrClusterIsRefusedNamingBoth() throws IOException {
    format();
    Map<String, String> before = content();
    assertThatThrownBy(() -> DataDirectory.open(disk, dir, 2, ""))
        .hasMessageContaining("belongs to broker 1, the configuration is of broker 2");
    assertThatThrownBy(() -> DataDirectory.open(disk, dir, 1, "bank"))
        .hasMessageContaining("belongs to cluster shop, the configuration is of cluster bank");
    assertThat(content()).isEqualTo(before);
    DataDirectory.open(disk, dir, 1, "shop").close();
  }

  @ParameterizedTest
  @ValueSource(strings = {"format=2\nanything=else\n", "format=17\n"})
  void aNewerFormatIsRefused(String text) throws IOException {
    format();
    Files.writeString(dir.resolve("broker.id"), text);
    refusesChangingNothing("written by a newer version; this one knows up to 1");
  }

  /** One replica's checkpoint with a flipped bit must not keep the others down. */
  @Test
  void aVersionOneBitAwayIsLeftToItsReplica() throws IOException {
    format();
    Path replica = dir.resolve("topics/01234567-89ab-cdef-0123-456789abcdef-0");
    Files.createDirectories(replica);
    Path checkpoint = replica.resolve("checkpoint.0");
    byte[] header = {'M', 'R', 'C', 'P', 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    Files.write(checkpoint, header);
    open().close();
    header[5] = 2;
    Files.write(checkpoint, header);
    refusesChangingNothing(checkpoint + " has format version 2, this version knows up to 1");
    header[4] = 0x40;
    Files.write(checkpoint, header);
    open().close();
  }

  @Test
  void aDamagedIdIsRefused() throws IOException {
    format();
    Path id = dir.resolve("broker.id");
    String good = Files.readString(id);
    Files.writeString(id, good.replace("broker=1", "broker=2"));
    refusesChangingNothing("broker.id is damaged: its crc32c is ");
    Files.writeString(id, good.substring(0, good.length() / 2));
    refusesChangingNothing("broker.id is damaged: ");
    Files.writeString(id, "");
    refusesChangingNothing("broker.id is damaged: ");
    Files.write(id, new byte[100_000]);
    refusesChangingNothing("it has 100000 bytes, the limit is 65536");
    Files.writeString(id, good);
    open().close();
  }

  @Test
  void aSecondStartInTheSameProcessNamesThePid() {
    format();
    long pid = ProcessHandle.current().pid();
    try (DataDirectory first = open()) {
      assertThatThrownBy(this::open)
          .isInstanceOf(DataDirectoryException.class)
          .hasMessageContaining("is in use by process " + pid + "; stop that broker first");
    }
    assertThatCode(() -> open().close()).doesNotThrowAnyException();
  }

  @Test
  void aSecondStartFromAnotherProcessNamesThePid() throws Exception {
    format();
    try (DataDirectory first = open()) {
      Process second =
          new ProcessBuilder(
                  Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                  "-cp",
                  System.getProperty("java.class.path"),
                  Opener.class.getName(),
                  dir.toString())
              .redirectErrorStream(true)
              .start();
      try {
        assertThat(second.waitFor(20, TimeUnit.SECONDS)).isTrue();
        assertThat(new String(second.getInputStream().readAllBytes()))
            .contains("is in use by process " + ProcessHandle.current().pid());
        assertThat(second.exitValue()).isEqualTo(1);
      } finally {
        second.destroyForcibly();
      }
      // The refused attempt of this process must not have dropped the lock either.
      assertThatThrownBy(this::open).hasMessageContaining("is in use");
    }
  }

  /** Opens a directory in another process. */
  static final class Opener {
    public static void main(String[] arguments) {
      try {
        DataDirectory.open(new DirectDisk(), Path.of(arguments[0]), 1, "").close();
      } catch (DataDirectoryException refused) {
        System.out.println(refused.getMessage());
        System.exit(1);
      }
    }
  }

  @Test
  void aCleanStopIsRemembered() {
    format();
    DataDirectory first = open();
    first.markRecovered();
    first.closeCleanly();
    disk.bootId = "boot-2";
    try (DataDirectory second = open()) {
      assertThat(second.cleanStop()).isTrue();
      assertThat(second.previousBootId()).contains("boot-1");
      assertThat(second.unsyncedBytesMayBeLost()).isFalse();
    }
  }

  @Test
  void aKilledProcessLosesNothingThatWasWritten() {
    format();
    DataDirectory first = open();
    first.markRecovered();
    first.close();
    try (DataDirectory second = open()) {
      assertThat(second.cleanStop()).isFalse();
      assertThat(second.previousBootId()).contains("boot-1");
      assertThat(second.unsyncedBytesMayBeLost()).isFalse();
    }
  }

  @Test
  void aLostMachineIsRememberedUntilRecoveryIsComplete() {
    format();
    DataDirectory first = open();
    first.markRecovered();
    first.close();
    disk.bootId = "boot-2";
    DataDirectory killedWhileRecovering = open();
    assertThat(killedWhileRecovering.unsyncedBytesMayBeLost()).isTrue();
    killedWhileRecovering.close();
    DataDirectory again = open();
    assertThat(again.unsyncedBytesMayBeLost()).isTrue();
    again.markRecovered();
    again.close();
    try (DataDirectory afterwards = open()) {
      assertThat(afterwards.unsyncedBytesMayBeLost()).isFalse();
      assertThat(afterwards.previousBootId()).contains("boot-2");
    }
  }

  @Test
  void aStopBeforeRecoveryLeavesNoCleanMark() {
    format();
    DataDirectory first = open();
    first.markRecovered();
    first.close();
    disk.bootId = "boot-2";
    open().closeCleanly();
    try (DataDirectory second = open()) {
      assertThat(second.cleanStop()).isFalse();
      assertThat(second.unsyncedBytesMayBeLost()).isTrue();
    }
  }

  @Test
  void aStopBeforeTheEndOfAStartThatHadNothingToRecoverIsClean() {
    format();
    open().closeCleanly();
    disk.bootId = "boot-2";
    open().closeCleanly();
    disk.bootId = "boot-3";
    try (DataDirectory third = open()) {
      assertThat(third.cleanStop()).isTrue();
      assertThat(third.previousBootId()).contains("boot-2");
      assertThat(third.unsyncedBytesMayBeLost()).isFalse();
    }
  }

  @Test
  void aMissingRunFileBesideDataMeansTheWorst() throws IOException {
    format();
    DataDirectory first = open();
    first.markRecovered();
    first.closeCleanly();
    Files.createDirectories(dir.resolve("topics"));
    Files.delete(dir.resolve("last-run"));
    try (DataDirectory second = open()) {
      assertThat(second.cleanStop()).isFalse();
      assertThat(second.unsyncedBytesMayBeLost()).isTrue();
      assertThat(second.previousBootId()).isEmpty();
    }
  }

  /**
   * The real disk with a boot id to choose, a list of what happened, and a rename that can fail.
   */
  private static final class TestDisk implements Disk {

    private final DirectDisk real = new DirectDisk();
    private final List<String> events = new java.util.ArrayList<>();
    private String bootId = "boot-1";
    private boolean failRename;

    @Override
    public DiskFile open(Path path, boolean create) throws IOException {
      events.add("open " + path.getFileName());
      DiskFile file = real.open(path, create);
      return (DiskFile)
          java.lang.reflect.Proxy.newProxyInstance(
              DiskFile.class.getClassLoader(),
              new Class<?>[] {DiskFile.class},
              (proxy, method, arguments) -> {
                if (method.getName().equals("sync")) {
                  events.add("sync " + path.getFileName());
                }
                return method.invoke(file, arguments);
              });
    }

    @Override
    public List<Path> list(Path directory) throws IOException {
      return real.list(directory);
    }

    @Override
    public boolean exists(Path path) {
      return real.exists(path);
    }

    @Override
    public void createDirectory(Path directory) throws IOException {
      real.createDirectory(directory);
    }

    @Override
    public void delete(Path path) throws IOException {
      real.delete(path);
    }

    @Override
    public void rename(Path from, Path to) throws IOException {
      if (failRename) {
        throw new IOException("rename failed");
      }
      events.add("rename " + to.getFileName());
      real.rename(from, to);
    }

    @Override
    public void syncDirectory(Path directory) throws IOException {
      events.add("sync directory " + directory.getFileName());
      real.syncDirectory(directory);
    }

    @Override
    public long usableBytes(Path path) throws IOException {
      return real.usableBytes(path);
    }

    @Override
    public boolean isDirectory(Path path) {
      return real.isDirectory(path);
    }

    @Override
    public long totalBytes(Path path) throws IOException {
      return real.totalBytes(path);
    }

    @Override
    public String bootId() {
      return bootId;
    }

    @Override
    public WriteBuffers writeBuffers() {
      return real.writeBuffers();
    }
  }
}
