package io.millrace.broker.log;

import static io.millrace.broker.log.TestBatches.bytesOf;
import static io.millrace.broker.log.TestBatches.stored;
import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.protocol.batch.BatchHeader;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** What a log should hold, as a plain list; compares every way of reading with it. */
final class ModelLog {

  /** An entry as it should be stored. */
  record Item(long index, long term, ByteBuffer stored, long baseOffset, long nextOffset) {
    boolean isControl() {
      return BatchHeader.isControl(stored, 0);
    }

    int size() {
      return stored.remaining();
    }
  }

  final long firstIndex;
  final long firstOffset;
  final List<Item> items = new ArrayList<>();

  /** Of the last entry in front of the first one. */
  private long termBefore = 1;

  ModelLog(long firstIndex, long firstOffset) {
    this.firstIndex = firstIndex;
    this.firstOffset = firstOffset;
  }

  ModelLog copy() {
    ModelLog copy = new ModelLog(firstIndex, firstOffset);
    copy.items.addAll(items);
    copy.termBefore = termBefore;
    return copy;
  }

  /** Without the entries before an index. */
  ModelLog from(long index) {
    int dropped = Math.toIntExact(index - firstIndex);
    ModelLog rest =
        new ModelLog(index, dropped < items.size() ? items.get(dropped).baseOffset : logEnd());
    rest.items.addAll(items.subList(dropped, items.size()));
    rest.termBefore = dropped == 0 ? termBefore : items.get(dropped - 1).term;
    return rest;
  }

  /** With those of some earlier entries in front that a log beginning at an index has. */
  ModelLog withFront(List<Item> earlier, long index) {
    int skipped = 0;
    while (skipped < earlier.size() && earlier.get(skipped).index < index) {
      skipped++;
    }
    List<Item> front = earlier.subList(skipped, earlier.size());
    if (front.isEmpty()
        || front.get(0).index != index
        || front.get(front.size() - 1).index != firstIndex - 1) {
      return this;
    }
    ModelLog whole = new ModelLog(index, front.get(0).baseOffset);
    whole.items.addAll(front);
    whole.items.addAll(items);
    return whole;
  }

  long lastIndex() {
    return firstIndex + items.size() - 1;
  }

  long logEnd() {
    return items.isEmpty() ? firstOffset : items.get(items.size() - 1).nextOffset;
  }

  long lastTerm() {
    return items.isEmpty() ? termBefore : items.get(items.size() - 1).term;
  }

  void append(LogEntry entry) {
    ByteBuffer batch = entry.batch();
    long base = logEnd();
    long next = base + BatchHeader.lastOffsetDelta(batch, batch.position()) + 1;
    items.add(new Item(entry.index(), entry.term(), stored(batch, base, entry.term()), base, next));
  }

  void truncate(long lastIndexKept) {
    while (lastIndex() > lastIndexKept) {
      items.remove(items.size() - 1);
    }
  }

  /** Compares the bounds and every entry, and a sample of the other lookups. */
  void check(PartitionLog log, Random random) throws IOException {
    assertThat(log.firstIndex()).as("first index").isEqualTo(firstIndex);
    assertThat(log.lastIndex()).as("last index").isEqualTo(lastIndex());
    assertThat(log.logStart()).as("log start").isEqualTo(firstOffset);
    assertThat(log.logEnd()).as("log end").isEqualTo(logEnd());
    assertThat(log.read(firstIndex - 1)).isNull();
    assertThat(log.read(lastIndex() + 1)).isNull();
    assertThat(log.termAt(firstIndex - 1)).isZero();
    assertThat(log.termAt(lastIndex() + 1)).isZero();
    for (Item item : items) {
      assertThat(log.read(item.index)).as("entry %d", item.index).isEqualTo(item.stored);
      assertThat(log.termAt(item.index)).as("term of %d", item.index).isEqualTo(item.term);
    }
    for (int i = 0; i < 8 && !items.isEmpty(); i++) {
      Item item = items.get(random.nextInt(items.size()));
      assertThat(log.read(item.index)).isEqualTo(item.stored);
      assertThat(log.endOffsetAt(item.index)).isEqualTo(item.nextOffset);
      checkTerm(log, item.term);
      checkTimestamp(log, BatchHeader.maxTimestamp(item.stored, 0) + random.nextInt(3) - 1);
    }
    for (int i = 0; i < 12; i++) {
      long offset = firstOffset + random.nextInt((int) (logEnd() - firstOffset) + 2);
      long end = boundary(random);
      checkSlice(log, offset, end, random.nextBoolean() ? 1 + random.nextInt(3000) : 1 << 20);
    }
    checkControls(log, firstIndex + random.nextInt(items.size() + 1));
  }

  private long boundary(Random random) {
    return random.nextInt(4) == 0 || items.isEmpty()
        ? logEnd()
        : items.get(random.nextInt(items.size())).nextOffset;
  }

  private void checkTerm(PartitionLog log, long term) {
    long expected =
        items.stream()
            .filter(item -> item.term > term)
            .findFirst()
            .map(Item::baseOffset)
            .orElse(logEnd());
    assertThat(log.endOffsetOfTerm(term)).as("end of term %d", term).isEqualTo(expected);
  }

  private void checkTimestamp(PartitionLog log, long timestamp) throws IOException {
    if (timestamp < 0) {
      return;
    }
    Item expected =
        items.stream()
            .filter(i -> !i.isControl() && BatchHeader.maxTimestamp(i.stored, 0) >= timestamp)
            .findFirst()
            .orElse(null);
    OffsetAndTimestamp found = log.offsetForTimestamp(timestamp, firstOffset, logEnd());
    if (expected == null) {
      assertThat(found).as("time %d", timestamp).isNull();
    } else {
      assertThat(found)
          .as("time %d", timestamp)
          .isEqualTo(
              new OffsetAndTimestamp(
                  expected.baseOffset, BatchHeader.maxTimestamp(expected.stored, 0)));
    }
  }

  private void checkControls(PartitionLog log, long from) throws IOException {
    List<Item> seen = new ArrayList<>();
    log.forEachControl(from, (index, term, batch) -> seen.add(new Item(index, term, batch, 0, 0)));
    List<Item> expected =
        items.stream()
            .filter(item -> item.index >= from && item.isControl())
            .map(item -> new Item(item.index, item.term, item.stored, 0, 0))
            .toList();
    assertThat(seen).as("control batches from %d", from).isEqualTo(expected);
  }

  void checkSlice(PartitionLog log, long offset, long end, int maxBytes) throws IOException {
    List<Item> expected = new ArrayList<>();
    int bytes = 0;
    for (Item item : items) {
      if (item.isControl() || item.nextOffset <= offset || item.nextOffset > end) {
        continue;
      }
      if (!expected.isEmpty() && bytes + item.size() > maxBytes) {
        break;
      }
      expected.add(item);
      bytes += item.size();
    }
    FetchSlice slice = log.slice(offset, end, maxBytes);
    String what = "slice from " + offset + " to " + end + ", at most " + maxBytes + " bytes";
    assertThat(slice.isEmpty()).as(what).isEqualTo(expected.isEmpty());
    if (!expected.isEmpty()) {
      ByteBuffer got = bytesOf(slice);
      int taken = 0;
      while (got.hasRemaining()) {
        assertThat(taken).as(what + ": batches").isLessThan(expected.size());
        Item item = expected.get(taken++);
        assertThat(got.remaining()).as(what).isGreaterThanOrEqualTo(item.size());
        assertThat(got.slice(got.position(), item.size())).as(what).isEqualTo(item.stored);
        got.position(got.position() + item.size());
      }
      if (slice.regions().size() < 64) {
        assertThat(taken).as(what + ": batches").isEqualTo(expected.size());
      }
      assertThat(slice.baseOffset()).as(what).isEqualTo(expected.get(0).baseOffset);
      assertThat(slice.nextOffset()).as(what).isEqualTo(expected.get(taken - 1).nextOffset);
      assertThat(slice.lastTerm()).as(what).isEqualTo((int) expected.get(taken - 1).term);
    }
    slice.release();
  }
}
