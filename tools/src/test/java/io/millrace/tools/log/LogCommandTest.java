package io.millrace.tools.log;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.millrace.broker.DataDirectory;
import io.millrace.broker.log.DirectDisk;
import io.millrace.broker.log.LogConfig;
import io.millrace.broker.raft.storage.VotesJournal;
import io.millrace.tools.ExitCodes;
import io.millrace.tools.TestTerminal;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The log commands on files that no broker uses. */
@Timeout(120)
class LogCommandTest {
  @TempDir private Path home;
  private TestTerminal terminal;
  private Path log;

  @BeforeEach
  void paths() {
    terminal = new TestTerminal(home.resolve("cluster"));
    log = home.resolve(StoredLog.TOPIC + "-0");
  }

  private TestTerminal.Finished run(String... args) {
    return terminal.run(args);
  }

  private static Path segment(Path log, int ordinal) throws IOException {
    try (Stream<Path> files = Files.list(log)) {
      return files
          .filter(file -> file.toString().endsWith(".log"))
          .sorted()
          .skip(ordinal)
          .findFirst()
          .orElseThrow();
    }
  }

  private static void flip(Path file, long position) throws IOException {
    try (var access = new RandomAccessFile(file.toFile(), "rw")) {
      access.seek(position);
      int old = access.read();
      access.seek(position);
      access.write(old ^ 1);
    }
  }

  private record State(ByteBuffer content, FileTime modified) {}

  private static Map<Path, State> files(Path directory) throws IOException {
    var files = new TreeMap<Path, State>();
    try (Stream<Path> all = Files.walk(directory)) {
      for (Path file : all.filter(Files::isRegularFile).toList()) {
        files.put(
            file,
            new State(ByteBuffer.wrap(Files.readAllBytes(file)), Files.getLastModifiedTime(file)));
      }
    }
    return files;
  }

  private static List<JsonObject> objects(String out) {
    return out.lines().map(line -> JsonParser.parseString(line).getAsJsonObject()).toList();
  }

  @Test
  void dumpPrintsOneLinePerBatch() throws IOException {
    StoredLog.writeTiny(log);
    Map<Path, State> before = files(log);

    TestTerminal.Finished dump = run("log", "dump", log.toString());

    assertThat(dump.exitCode()).as(dump.err()).isEqualTo(ExitCodes.OK);
    assertThat(dump.err()).isEmpty();
    List<String> lines = dump.out().lines().toList();
    assertThat(lines).hasSize(7);
    assertThat(lines.get(0)).contains("00000000000000000000.00000000000000000001.log", "bytes");
    assertThat(lines.get(1)).contains("INDEX", "TERM", "OFFSETS", "POSITION", "CONTENT");
    assertThat(lines.get(2))
        .contains("SEGMENT_HEAD cluster=shop topic=" + StoredLog.TOPIC + " partition=0");
    assertThat(lines.get(3)).contains("CONF peers=[b1:0:0, b2:0:0]");
    assertThat(lines.get(4)).contains("TIME logTimeMillis=" + StoredLog.TIME);
    assertThat(lines.get(5))
        .matches("\\s+3\\s+1\\s+0-1\\s+2\\s+\\d+\\s+\\d+\\s+2027-01-15T08:00:00Z\\+5ms\\s.*")
        .contains("1001/0/0-1", "none", "ok");
    assertThat(lines.get(6)).matches("\\s+4\\s+2\\s+2\\s+1\\s.*").contains("zstd");
    assertThat(files(log)).isEqualTo(before);
  }

  @Test
  void dumpAsJsonHasOneObjectPerLine() throws IOException {
    StoredLog.writeTiny(log);

    TestTerminal.Finished dump =
        run("log", "dump", segment(log, 0).toString(), "--output", "json", "--records");

    List<JsonObject> batches = objects(dump.out());
    assertThat(batches)
        .extracting(batch -> batch.get("kind").getAsString())
        .containsExactly("head", "entry", "entry", "entry", "entry");
    assertThat(batches.get(0).get("index").isJsonNull()).isTrue();
    assertThat(batches.get(0).getAsJsonObject("content").get("firstIndex").getAsLong())
        .isEqualTo(1);
    assertThat(batches.get(1).get("control").getAsString()).isEqualTo("CONF");
    JsonObject records = batches.get(3);
    assertThat(records.get("index").getAsLong()).isEqualTo(3);
    assertThat(records.get("baseOffset").getAsLong()).isZero();
    assertThat(records.get("lastOffset").getAsLong()).isEqualTo(1);
    assertThat(records.get("position").getAsLong())
        .isEqualTo(
            batches.get(2).get("position").getAsLong() + batches.get(2).get("bytes").getAsLong());
    JsonArray list = records.getAsJsonArray("recordList");
    assertThat(list.get(0).getAsJsonObject().get("key").getAsString()).isEqualTo("'anna'");
    assertThat(list.get(1).getAsJsonObject().get("value").getAsString()).isEqualTo("'salt\\n'");
    assertThat(batches.get(4).get("producerId").isJsonNull()).isTrue();
    assertThat(batches.get(4).get("compression").getAsString()).isEqualTo("zstd");
  }

  @Test
  void recordsAreEscapedAndBounded() throws IOException {
    StoredLog.writeTiny(log);

    TestTerminal.Finished dump = run("log", "dump", log.toString(), "--records");

    assertThat(dump.out())
        .contains("0  2027-01-15T08:00:00Z  'anna'  'bread'  'shop'='7'")
        .contains("1  2027-01-15T08:00:00.005Z  null  'salt\\n'")
        .contains("'bert'  '" + "milk".repeat(25) + "'.. (200 bytes)");
  }

  /** Every byte of the file is in exactly one field, in order. */
  @Test
  void annotationCoversTheFileByteByByte() throws IOException {
    StoredLog.writeTiny(log);
    Path file = segment(log, 0);

    TestTerminal.Finished dump =
        run("log", "dump", file.toString(), "--annotate", "--output", "json");

    byte[] content = Files.readAllBytes(file);
    long at = 0;
    for (JsonObject batch : objects(dump.out())) {
      for (var each : batch.getAsJsonArray("fields")) {
        JsonObject field = each.getAsJsonObject();
        String position = field.get("position").getAsString();
        if (position.startsWith("+") || field.get("depth").getAsInt() > 0) {
          continue;
        }
        assertThat(Long.parseLong(position)).isEqualTo(at);
        int bytes = field.get("bytes").getAsInt();
        String hex = field.get("hex").getAsString().replace("..", "");
        assertThat(hex)
            .isEqualTo(
                java.util.HexFormat.of()
                    .formatHex(content, (int) at, (int) at + Math.min(bytes, 16)));
        at += bytes;
      }
    }
    assertThat(at).isEqualTo(content.length);
    String text = run("log", "dump", file.toString(), "--annotate").out();
    assertThat(text)
        .contains("partitionLeaderEpoch    -1: in the file only, no Raft entry")
        .contains("formatVersion", "clusterId", "shop")
        .contains("peers (1)", "'b1:0:0'")
        .contains("logTimeMillis (1)", Long.toString(StoredLog.TIME))
        .contains("CRC-32C of all bytes from the attributes on: matches")
        .contains("zstd, ", " bytes when decompressed")
        .containsPattern("\\+0 +[0-9a-f]+ +length +\\d+ bytes follow, record 1 of 1");
  }

  @Test
  void dumpTakesARange() throws IOException {
    StoredLog.writeMany(log, 40, 2048);
    assertThat(indexes("--from-index", "25", "--limit", "4")).containsSubsequence(25L, 26L);
    assertThat(indexes("--from-index", "25")).startsWith(25L).endsWith(40L).hasSize(16);
    assertThat(indexes("--from-offset", "30")).startsWith(31L).endsWith(40L).hasSize(10);
    assertThat(
            objects(run("log", "dump", log.toString(), "--limit", "3", "--output", "json").out()))
        .hasSize(3);
  }

  private List<Long> indexes(String... options) {
    var args =
        new java.util.ArrayList<>(List.of("log", "dump", log.toString(), "--output", "json"));
    args.addAll(List.of(options));
    return objects(run(args.toArray(String[]::new)).out()).stream()
        .filter(batch -> batch.get("kind").getAsString().equals("entry"))
        .map(batch -> batch.get("index").getAsLong())
        .toList();
  }

  @Test
  void verifyOfAWholeLogIsOk() throws IOException {
    StoredLog.writeMany(log, 40, 2048);
    Map<Path, State> before = files(log);

    TestTerminal.Finished verify = run("log", "verify", log.toString());

    assertThat(verify.exitCode()).as(verify.out() + verify.err()).isEqualTo(ExitCodes.OK);
    assertThat(verify.out()).contains("SEGMENT", "closed", "open").containsPattern("verdict +ok");
    JsonObject json =
        JsonParser.parseString(run("log", "verify", log.toString(), "--output", "json").out())
            .getAsJsonObject();
    assertThat(json.get("batches").getAsLong()).isEqualTo(40);
    assertThat(json.get("records").getAsLong()).isEqualTo(40);
    assertThat(json.getAsJsonArray("problems")).isEmpty();
    JsonObject first = json.getAsJsonArray("segments").get(0).getAsJsonObject();
    assertThat(first.get("state").getAsString()).isEqualTo("closed");
    assertThat(first.get("entries").getAsString()).startsWith("1-");
    assertThat(first.get("offsets").getAsString()).startsWith("0-");
    assertThat(files(log)).isEqualTo(before);
  }

  @Test
  void damageIsNamedAndEndsWithExitCodeOne() throws IOException {
    StoredLog.writeMany(log, 40, 2048);
    Path file = segment(log, 1);
    flip(file, 400);
    Map<Path, State> before = files(log);

    TestTerminal.Finished verify = run("log", "verify", log.toString());
    TestTerminal.Finished alone = run("log", "verify", file.toString());
    TestTerminal.Finished dump = run("log", "dump", file.toString());

    assertThat(verify.exitCode()).isEqualTo(ExitCodes.FAILED);
    assertThat(verify.out())
        .contains("damage", file.toString(), "the checksum does not match", "DAMAGED: 1 problem");
    assertThat(alone.exitCode()).isEqualTo(ExitCodes.FAILED);
    assertThat(alone.out()).contains("the checksum does not match", "DAMAGED: 1 problem");
    assertThat(dump.exitCode()).isEqualTo(ExitCodes.FAILED);
    assertThat(dump.out()).containsPattern("BAD +the checksum does not match").contains("FOOT");
    assertThat(files(log)).isEqualTo(before);
  }

  @Test
  void votesAreListedAndCompared() throws IOException {
    Path data = home.resolve("data");
    DataDirectory.format(new DirectDisk(), data, "shop", 1, List.of(1));
    Path raft = data.resolve("raft");
    try (VotesJournal votes = VotesJournal.open(new DirectDisk(), raft, 1)) {
      votes.saveVote("meta-shop", 7, "b1:0:0");
      votes.saveVote("t-x-0", 3, "");
    }
    TestTerminal.Finished dump = run("log", "dump", raft.resolve("votes.a").toString());
    assertThat(dump.exitCode()).as(dump.err()).isEqualTo(ExitCodes.OK);
    assertThat(dump.out()).containsPattern("meta-shop +7 +b1:0:0 +OK").contains("t-x-0");

    assertThat(run("log", "verify", data.toString()).exitCode()).isEqualTo(ExitCodes.OK);
    flip(raft.resolve("votes.b"), 20);
    TestTerminal.Finished verify = run("log", "verify", raft.resolve("votes.b").toString());
    assertThat(verify.exitCode()).isEqualTo(ExitCodes.FAILED);
    assertThat(verify.out())
        .contains("votes.b", "what follows its 0 good records, at position 8, is none");
  }

  @Test
  void aNewerFormatIsRefusedWithOneLine() throws Exception {
    StoredLog.writeTiny(log);
    Path file = segment(log, 0);
    byte[] content = Files.readAllBytes(file);
    Files.write(file, NewerHead.of(content));
    Map<Path, State> before = files(log);

    for (String command : List.of("dump", "verify")) {
      TestTerminal.Finished refused = run("log", command, file.toString());
      assertThat(refused.exitCode()).isEqualTo(ExitCodes.FAILED);
      assertThat(refused.errorLines())
          .containsExactly(
              "millrace: "
                  + file
                  + " has segment format version 2, this broker knows up to 1: start the version"
                  + " that wrote it");
    }
    TestTerminal.Finished verify = run("log", "verify", log.toString());
    assertThat(verify.exitCode()).isEqualTo(ExitCodes.FAILED);
    assertThat(verify.out()).contains("newer format", "has segment format version 2");
    assertThat(files(log)).isEqualTo(before);
  }

  @Test
  void whatIsNothingOfABrokerIsRefused() throws IOException {
    Path notes = Files.writeString(home.resolve("notes.txt"), "hello");
    TestTerminal.Finished refused = run("log", "dump", notes.toString());
    assertThat(refused.exitCode()).isEqualTo(ExitCodes.FAILED);
    assertThat(refused.errorLines()).hasSize(1);
    assertThat(refused.err()).contains(notes + " is no segment (*.log), votes file");

    Path missing = home.resolve("missing");
    assertThat(run("log", "verify", missing.toString()).err())
        .isEqualTo("millrace: no such file: " + missing + System.lineSeparator());

    StoredLog.writeMany(log, 1, LogConfig.DEFAULT_SEGMENT_BYTES);
    Path foreign = Files.writeString(home.resolve("x.log"), "hello ".repeat(20));
    assertThat(run("log", "verify", foreign.toString()).err())
        .contains(foreign + " is no segment: it does not begin with a head");
  }
}
