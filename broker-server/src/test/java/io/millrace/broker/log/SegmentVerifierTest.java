package io.millrace.broker.log;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.millrace.protocol.batch.BatchHeader;
import io.millrace.protocol.batch.ControlBatch;
import io.millrace.protocol.batch.ControlType;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a look from outside finds in segments that are whole, damaged, or being written. */
@Timeout(120)
class SegmentVerifierTest {

  private static final Path DIRECTORY = LogScript.DIRECTORY;
  private static final int ENTRIES = 60;

  /** Has the log time of {@link TestBatches#time}. */
  private static final LogListener TIMES =
      new LogListener() {
        @Override
        public void failed(String reason, Throwable cause) {}

        @Override
        public void lowerDurableMark(SyncMark mark) {}

        @Override
        public long logTimeOf(ByteBuffer timeBatch) {
          return TestBatches.timeOf(timeBatch);
        }
      };

  private final SimulatedDisk disk = new SimulatedDisk(1);
  private List<Path> segments;

  @BeforeEach
  void write() throws IOException {
    LogConfig config = new LogConfig(FsyncPolicy.ALWAYS, 0, 4096);
    try (PartitionLog log =
        PartitionLog.open(disk, DIRECTORY, LogScript.IDENTITY, config, RecoveryHint.NONE, TIMES)) {
      for (int i = 1; i <= ENTRIES; i++) {
        ByteBuffer batch =
            i % 7 == 0
                ? TestBatches.time(1000 + i)
                : i % 5 == 0
                    ? TestBatches.control(30, i)
                    : TestBatches.records(2, 250, 1000 + i, i);
        log.append(List.of(new LogEntry(i, 1 + i / 9, batch)));
      }
      assertThat(log.segmentCount()).isGreaterThan(2);
    }
    segments = disk.allContent().keySet().stream().filter(SegmentName::isLog).sorted().toList();
  }

  private SegmentVerifier verifier() {
    return new SegmentVerifier(disk, Pacer.NONE, TestBatches::timeOf);
  }

  private SegmentReport verify(Path segment) throws IOException {
    return verifier().verify(segment, SegmentVerifier.Patience.NONE);
  }

  private LogReport verifyAll() throws IOException {
    return new LogVerifier(disk, verifier(), SegmentVerifier.Patience.NONE).verify(DIRECTORY, null);
  }

  private Path closed() {
    return segments.get(1);
  }

  private Path newest() {
    return segments.get(segments.size() - 1);
  }

  private static Path indexOf(Path segment) {
    return SegmentName.parse(segment).index(DIRECTORY);
  }

  private void replace(Path path, byte[] content) {
    disk.lose(path);
    disk.put(path, content);
  }

  private List<StoredBatch> batches(Path segment) throws IOException {
    List<StoredBatch> batches = new ArrayList<>();
    SegmentReading whole = SegmentReading.whole(Pacer.NONE, TestBatches::timeOf);
    try (SegmentWalk walk = SegmentWalk.open(disk, segment, whole)) {
      for (StoredBatch batch = walk.next(); batch != null; batch = walk.next()) {
        batches.add(batch);
      }
    }
    return batches;
  }

  private static List<String> texts(LogReport report) {
    return report.problems().stream().map(LogProblem::toString).toList();
  }

  @Test
  void whatWasWrittenIsWhole() throws IOException {
    Map<Path, ByteBuffer> before = disk.allContent();
    LogReport report = verifyAll();
    assertThat(report.problems()).isEmpty();
    assertThat(report.firstIndex()).isEqualTo(1);
    assertThat(report.nextIndex()).isEqualTo(ENTRIES + 1);
    assertThat(report.termAt(9)).isEqualTo(2);
    assertThat(report.termAt(ENTRIES + 1)).isZero();
    long records = 0;
    for (SegmentReport segment : report.segments()) {
      assertThat(segment.valid()).hasSize(1);
      assertThat(segment.foot() == null).isEqualTo(segment.log().equals(newest()));
      assertThat(segment.valid().get(0).nextIndex()).isEqualTo(segment.nextIndex());
      records += segment.sums().records();
    }
    assertThat(records).isEqualTo(report.segments().get(segments.size() - 1).nextOffset());
    assertThat(disk.allContent()).as("nothing is modified").isEqualTo(before);
  }

  @Test
  void theWalkShowsEveryBatchWithItsPlace() throws IOException {
    List<StoredBatch> batches = batches(closed());
    assertThat(batches.get(0).kind()).isEqualTo(StoredBatch.Kind.HEAD);
    assertThat(batches.get(batches.size() - 1).kind()).isEqualTo(StoredBatch.Kind.FOOT);
    long position = 0;
    long index = SegmentName.parse(closed()).firstIndex();
    for (StoredBatch batch : batches) {
      assertThat(batch.position()).isEqualTo(position);
      position = batch.end();
      if (batch.kind() == StoredBatch.Kind.ENTRY) {
        assertThat(batch.index()).isEqualTo(index);
        assertThat(batch.term()).isEqualTo((int) (1 + index / 9));
        int type =
            index % 7 == 0
                ? ControlType.TIME.code()
                : index % 5 == 0 ? ControlType.COMMIT.code() : StoredBatch.RECORDS;
        assertThat(batch.controlType()).isEqualTo(type);
        index++;
      }
    }
    assertThat(position).isEqualTo(disk.content(closed()).length);
  }

  @Test
  void aWalkBeginsWhereItIsAsked() throws IOException {
    long wanted = SegmentName.parse(closed()).firstIndex() + 9;
    SegmentReading reading = new SegmentReading(Pacer.NONE, TestBatches::timeOf, wanted, 0);
    try (SegmentWalk walk = SegmentWalk.open(disk, closed(), reading)) {
      assertThat(walk.next().kind()).isEqualTo(StoredBatch.Kind.HEAD);
      StoredBatch first = walk.next();
      assertThat(first.index()).isBetween(wanted - 8, wanted);
      while (walk.next() != null) {
        assertThat(walk.reason()).isNull();
      }
      assertThat(walk.stop()).isEqualTo(SegmentWalk.Stop.FOOT);
    }
    reading = new SegmentReading(Pacer.NONE, TestBatches::timeOf, 0, 40);
    Path holder =
        segments.stream()
            .filter(each -> SegmentName.parse(each).baseOffset() <= 40)
            .reduce((a, b) -> b)
            .orElseThrow();
    try (SegmentWalk walk = SegmentWalk.open(disk, holder, reading)) {
      walk.next();
      assertThat(walk.next().header().baseOffset()).isLessThanOrEqualTo(40);
    }
  }

  /**
   * The promise of a salvage: whatever single byte is changed, with and without the index, the
   * change is found, and no range that is called valid holds it.
   */
  @Test
  void everyChangedByteIsFoundAndInNoValidRange() throws IOException {
    for (Path segment : List.of(closed(), newest())) {
      byte[] whole = disk.content(segment).clone();
      byte[] index = disk.content(indexOf(segment)).clone();
      for (boolean withIndex : new boolean[] {true, false}) {
        if (!withIndex && segment.equals(newest())) {
          continue; // Without footer and index nothing speaks for the terms.
        }
        for (int at = 0; at < whole.length; at++) {
          byte[] changed = whole.clone();
          changed[at] ^= (byte) (1 << at % 8);
          replace(segment, changed);
          if (withIndex) {
            replace(indexOf(segment), index);
          } else {
            disk.lose(indexOf(segment));
          }
          SegmentReport report = verify(segment);
          assertThat(report.bad()).as("byte %d of %s", at, segment).isNotEmpty();
          int place = at;
          assertThat(report.valid())
              .as("byte %d of %s", at, segment)
              .noneMatch(range -> range.position() <= place && place < range.endPosition());
          assertThat(report.valid()).allMatch(range -> range.nextIndex() > range.firstIndex());
        }
      }
      replace(segment, whole);
      replace(indexOf(segment), index);
    }
  }

  @Test
  void aChangedPayloadCostsOneEntry() throws IOException {
    StoredBatch victim = batches(closed()).get(4);
    disk.flip(closed(), victim.position() + 70, 2);
    SegmentReport report = verify(closed());
    assertThat(report.bad())
        .containsExactly(
            new BadRange(
                victim.index(),
                victim.header().baseOffset(),
                victim.position(),
                victim.end(),
                false,
                "the checksum does not match"));
    assertThat(report.valid()).hasSize(2);
    assertThat(report.valid().get(0).nextIndex()).isEqualTo(victim.index());
    assertThat(report.valid().get(0).endPosition()).isEqualTo(victim.position());
    assertThat(report.valid().get(1).firstIndex()).isEqualTo(victim.index() + 1);
    assertThat(report.valid().get(1).position()).isEqualTo(victim.end());
    assertThat(report.foot()).as("the footer is believed all the same").isNotNull();
    assertThat(report.indexProblem()).isNull();
  }

  @Test
  void behindAWrongLengthTheIndexShowsTheWay() throws IOException {
    StoredBatch victim = batches(closed()).get(3);
    disk.flip(closed(), victim.position() + BatchHeader.BATCH_LENGTH_OFFSET + 2, 0);
    SegmentReport report = verify(closed());
    assertThat(report.bad()).hasSize(1);
    assertThat(report.bad().get(0).index()).isEqualTo(victim.index());
    assertThat(report.valid()).hasSize(2);
    assertThat(report.valid().get(1).firstIndex()).isGreaterThan(victim.index());

    disk.lose(indexOf(closed()));
    report = verify(closed());
    assertThat(report.valid()).as("without the index the rest is not found").hasSize(1);
    assertThat(report.bad().get(0).endPosition()).isEqualTo(disk.content(closed()).length);
    assertThat(report.indexProblem()).isEqualTo("it is missing");
  }

  @Test
  void aTermThatFallsIsFound() throws IOException {
    List<StoredBatch> batches = batches(closed());
    int inItsTerm = 3;
    while (batches.get(inItsTerm).term() != batches.get(inItsTerm - 1).term()) {
      inItsTerm++;
    }
    StoredBatch victim = batches.get(inItsTerm);
    byte[] content = disk.content(closed()).clone();
    ByteBuffer.wrap(content)
        .putInt(
            (int) victim.position() + BatchHeader.PARTITION_LEADER_EPOCH_OFFSET, victim.term() - 1);
    replace(closed(), content);
    assertThat(verify(closed()).bad())
        .singleElement()
        .satisfies(
            bad -> {
              assertThat(bad.index()).isEqualTo(victim.index());
              assertThat(bad.reason())
                  .isEqualTo("term " + (victim.term() - 1) + " behind term " + victim.term());
            });
  }

  @Test
  void aBlockOfZerosIsStrictlyBounded() throws IOException {
    List<StoredBatch> batches = batches(closed());
    byte[] content = disk.content(closed()).clone();
    int from = (int) batches.get(2).position() + 10;
    int to = (int) batches.get(4).position() + 10;
    Arrays.fill(content, from, to, (byte) 0);
    replace(closed(), content);
    SegmentReport report = verify(closed());
    assertThat(report.bad().get(0).index()).isEqualTo(batches.get(2).index());
    assertThat(report.valid().get(0).nextIndex()).isEqualTo(batches.get(2).index());
    assertThat(report.valid().get(1).position()).isGreaterThanOrEqualTo(batches.get(5).position());
  }

  @Test
  void damageInTheFooterIsFound() throws IOException {
    List<StoredBatch> batches = batches(closed());
    StoredBatch foot = batches.get(batches.size() - 1);
    disk.flip(closed(), foot.position() + 100, 1);
    LogReport report = verifyAll();
    assertThat(report.isDamaged()).isTrue();
    assertThat(texts(report))
        .anyMatch(text -> text.contains("the footer is damaged"))
        .anyMatch(text -> text.contains("it has no good footer, and a later segment follows"));
    SegmentReport segment = report.segments().get(1);
    assertThat(segment.valid()).hasSize(1);
    assertThat(segment.valid().get(0).endPosition()).isEqualTo(foot.position());
  }

  @Test
  void aFooterThatSumsUpSomethingElseIsFound() throws IOException {
    SegmentReport whole = verify(closed());
    SegmentFoot foot = whole.foot();
    SegmentFoot wrong =
        new SegmentFoot(
            foot.lastIndex(),
            foot.nextOffset(),
            foot.maxTimestamp() + 1,
            foot.firstLogTime(),
            foot.lastLogTime(),
            foot.recordBytes(),
            foot.chain(),
            foot.epochs());
    byte[] content = disk.content(closed()).clone();
    ByteBuffer encoded = wrong.encode();
    ByteBuffer.wrap(content)
        .put(content.length - encoded.remaining(), encoded, 0, encoded.remaining());
    replace(closed(), content);
    assertThat(verify(closed()).bad())
        .singleElement()
        .satisfies(bad -> assertThat(bad.reason()).startsWith("the footer does not sum up"));
  }

  @Test
  void aDamagedIndexIsAWarning() throws IOException {
    disk.flip(indexOf(closed()), SegmentIndex.ENTRIES_OFFSET + IndexEntry.BYTES + 3, 1);
    LogReport report = verifyAll();
    assertThat(report.isDamaged()).isFalse();
    assertThat(texts(report))
        .singleElement()
        .satisfies(text -> assertThat(text).contains("entry 1 has a wrong checksum"));

    disk.lose(indexOf(closed()));
    assertThat(texts(verifyAll()))
        .singleElement()
        .satisfies(text -> assertThat(text).contains("its index: it is missing"));

    disk.put(indexOf(closed()), disk.content(indexOf(segments.get(0))));
    assertThat(texts(verifyAll()))
        .singleElement()
        .satisfies(text -> assertThat(text).contains("no header of this segment's index"));
  }

  /** Entries with right checksums that are not those of the log. */
  @Test
  void anIndexOfOtherEntriesIsAWarningWhereTheFooterSpeaksForTheLog() throws IOException {
    byte[] content = disk.content(indexOf(closed())).clone();
    ByteBuffer index = ByteBuffer.wrap(content);
    int at = SegmentIndex.ENTRIES_OFFSET + 2 * IndexEntry.BYTES;
    IndexEntry right = IndexEntry.read(index, at);
    new IndexEntry(
            right.index(),
            right.offset(),
            right.maxTimestamp() + 5,
            right.logTime(),
            right.firstLogTime(),
            right.position(),
            right.recordBytes(),
            right.term(),
            right.chain(),
            right.kind())
        .write(index.position(at));
    replace(indexOf(closed()), content);
    LogReport report = verifyAll();
    assertThat(report.isDamaged()).isFalse();
    assertThat(texts(report))
        .singleElement()
        .satisfies(text -> assertThat(text).contains("its index: entry 2 is IndexEntry["));
  }

  @Test
  void aNewestSegmentThatEndsInsideABatchIsNoDamageUnlessItWasSynced() throws IOException {
    byte[] content = disk.content(newest());
    byte[] more = Arrays.copyOf(content, content.length + 40);
    System.arraycopy(content, content.length - 250, more, content.length, 40);
    replace(newest(), more);
    LogReport report = verifyAll();
    assertThat(report.isDamaged()).isFalse();
    assertThat(texts(report))
        .singleElement()
        .satisfies(
            text ->
                assertThat(text)
                    .contains("the last 40 bytes are no whole batch")
                    .contains("unless it was synced, the next start cuts it away"));

    replace(newest(), Arrays.copyOf(content, content.length - 1));
    report = verifyAll();
    assertThat(report.isDamaged()).isTrue();
    assertThat(texts(report))
        .anyMatch(
            text ->
                text.contains("its index says that entry 60 was synced, but the log ends with 59"));
  }

  @Test
  void aClosedSegmentCutShortIsDamage() throws IOException {
    byte[] content = disk.content(closed());
    replace(closed(), Arrays.copyOf(content, content.length - 300));
    assertThat(verifyAll().isDamaged()).isTrue();
  }

  @Test
  void aMissingSegmentIsAGap() throws IOException {
    long first = SegmentName.parse(closed()).firstIndex();
    long next = SegmentName.parse(segments.get(2)).firstIndex();
    disk.lose(closed());
    LogReport report = verifyAll();
    assertThat(report.isDamaged()).isTrue();
    assertThat(texts(report))
        .anyMatch(text -> text.contains("entries " + first + " to " + (next - 1)))
        .anyMatch(text -> text.contains("an index without its segment"));
  }

  @Test
  void aSegmentUnderAnotherNameIsFound() throws IOException {
    SegmentName right = SegmentName.parse(newest());
    Path wrong = new SegmentName(right.baseOffset(), right.firstIndex() + 1).log(DIRECTORY);
    byte[] content = disk.content(newest());
    disk.lose(newest());
    disk.put(wrong, content);
    assertThat(texts(verifyAll()))
        .anyMatch(text -> text.contains("it was written as " + right + ".log: give it back"));
  }

  @Test
  void aSegmentOfAnotherLogIsFound() throws IOException {
    LogIdentity other = new LogIdentity("cluster-1", LogScript.IDENTITY.topicId(), 9);
    SegmentName name = SegmentName.parse(newest());
    ByteBuffer head = new SegmentHead(other, name, -1).encode();
    byte[] content = disk.content(newest()).clone();
    ByteBuffer.wrap(content).put(0, head, 0, head.remaining());
    replace(newest(), content);
    assertThat(texts(verifyAll()))
        .anyMatch(text -> text.contains("it belongs to " + other + ", the others to "));
  }

  @Test
  void aNewerVersionIsRefusedAndNothingIsModified() throws Exception {
    byte[] content = disk.content(closed()).clone();
    int headBytes = (int) BatchHeader.sizeInBytes(ByteBuffer.wrap(content), 0);
    ByteBuffer batch = ByteBuffer.wrap(content, 0, headBytes).slice();
    byte[] value = ControlBatch.decode(batch).value().toByteArray();
    value[1] = 2;
    ByteBuffer head = ControlBatch.encode(ControlType.SEGMENT_HEAD.code(), value);
    ByteBuffer.wrap(content).put(0, head, 0, headBytes);
    replace(closed(), content);
    Map<Path, ByteBuffer> before = disk.allContent();

    assertThatThrownBy(() -> verify(closed()))
        .isInstanceOf(LogFormatException.class)
        .hasMessage(
            closed()
                + " has segment format version 2, this broker knows up to 1: start the version that"
                + " wrote it");
    LogReport report = verifyAll();
    assertThat(report.problems())
        .anyMatch(problem -> problem.severity() == LogProblem.Severity.NEWER_FORMAT);
    assertThatThrownBy(() -> SegmentFormat.refuseNewer(disk, DIRECTORY))
        .hasMessageContaining(closed() + " has segment format version 2");
    assertThat(disk.allContent()).isEqualTo(before);
  }

  @Test
  void whatIsNoSegmentIsRefused() {
    Path path = DIRECTORY.resolve("notes.log");
    disk.put(path, "no segment at all, but long enough to hold the header of a batch".getBytes());
    assertThatThrownBy(() -> verify(path))
        .isInstanceOf(LogFormatException.class)
        .hasMessage(path + " is no segment: it does not begin with a head");
  }

  /** A write that goes on between two looks. */
  @Test
  void aBatchThatIsBeingWrittenIsWaitedFor() throws IOException {
    byte[] whole = disk.content(newest()).clone();
    int last = (int) batches(newest()).get(batches(newest()).size() - 1).position();
    int[] sizes = {last + 13, last + 80, whole.length - 1, whole.length};
    AtomicInteger looks = new AtomicInteger();
    replace(newest(), Arrays.copyOf(whole, sizes[0]));
    try (DiskFile writer = disk.open(newest(), false)) {
      LogReport report =
          new LogVerifier(
                  disk,
                  verifier(),
                  attempt -> {
                    int from = sizes[Math.min(looks.getAndIncrement(), sizes.length - 1)];
                    int to = sizes[Math.min(looks.get(), sizes.length - 1)];
                    writer.write(ByteBuffer.wrap(whole, from, to - from).slice(), from);
                    return attempt < 3;
                  })
              .verify(DIRECTORY, null);
      assertThat(report.problems()).isEmpty();
      assertThat(report.nextIndex()).isEqualTo(ENTRIES + 1);
      assertThat(looks.get()).isEqualTo(3);
    }
  }

  @Test
  void everyByteIsReadAtThePaceAndInBoundedPieces() throws IOException {
    long[] asked = new long[2];
    Pacer pacer =
        bytes -> {
          asked[0] += bytes;
          asked[1] = Math.max(asked[1], bytes);
        };
    new SegmentVerifier(disk, pacer, TestBatches::timeOf)
        .verify(closed(), SegmentVerifier.Patience.NONE);
    assertThat(asked[0]).isGreaterThanOrEqualTo(disk.content(closed()).length);
    assertThat(asked[1]).isLessThanOrEqualTo(128 * 1024);

    Pacer ending =
        bytes -> {
          throw new IOException("enough");
        };
    assertThatThrownBy(
            () ->
                new SegmentVerifier(disk, ending, TestBatches::timeOf)
                    .verify(closed(), SegmentVerifier.Patience.NONE))
        .hasMessage("enough");
  }
}
