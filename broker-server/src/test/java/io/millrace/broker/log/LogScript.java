package io.millrace.broker.log;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.UUID;

/**
 * Drives a log on a {@link SimulatedDisk} through operations and crashes and knows, after each,
 * what the log must and may hold.
 */
final class LogScript implements LogListener {

  static final LogIdentity IDENTITY = new LogIdentity("cluster-1", new UUID(7, 8), 2);
  static final Path DIRECTORY = Path.of("/data/topics/t-2");

  final SimulatedDisk disk;
  final LogConfig config;
  final Random random;
  PartitionLog log;
  RecoveryReport lastReport;

  /** What the log holds if everything that was begun is done. */
  ModelLog model = new ModelLog(1, 0);

  /** States in one of which a log may be found if an operation was cut off by a crash. */
  private List<ModelLog> possible = new ArrayList<>();

  /** Entries that were dropped; files with a tail of them can still be there. */
  private final List<ModelLog.Item> left = new ArrayList<>();

  /** Entries up to here survive everything. */
  private long durable;

  /** What the owner keeps durably: as in the votes files and checkpoints. */
  private SyncMark storedMark;

  private long checkpoint;
  private String openedBoot;
  private long timestamp = 1000;

  LogScript(long seed, FsyncPolicy fsync, long segmentBytes) {
    this.disk = new SimulatedDisk(seed);
    this.random = new Random(seed * 31 + 7);
    this.config = new LogConfig(fsync, fsync == FsyncPolicy.INTERVAL ? 100 : 0, segmentBytes);
  }

  // -------------------------------------------------------------------------------- the log's
  // owner

  @Override
  public void failed(String reason, Throwable cause) {}

  @Override
  public void lowerDurableMark(SyncMark mark) {
    if (storedMark != null && storedMark.index() > mark.index()) {
      storedMark = mark;
    }
  }

  @Override
  public void rolled() {
    storedMark = log == null ? storedMark : log.syncMark();
  }

  @Override
  public long logTimeOf(ByteBuffer timeBatch) {
    return TestBatches.timeOf(timeBatch);
  }

  // -------------------------------------------------------------------------------------
  // operations

  RecoveryHint hint() {
    boolean bootChanged = !disk.bootId().equals(openedBoot);
    return new RecoveryHint(checkpoint, storedMark, bootChanged);
  }

  void open() throws IOException {
    log = PartitionLog.open(disk, DIRECTORY, IDENTITY, config, hint(), this);
    lastReport = log.recovery();
    openedBoot = disk.bootId();
  }

  ByteBuffer randomBatch() {
    timestamp += random.nextInt(5);
    return switch (random.nextInt(8)) {
      case 0, 1 -> TestBatches.control(random.nextInt(60), random.nextLong());
      case 2 -> TestBatches.time(timestamp);
      case 3 ->
          TestBatches.records(
              1 + random.nextInt(9), 61 + random.nextInt(3000), timestamp, random.nextLong());
      default ->
          TestBatches.records(
              1 + random.nextInt(3),
              61 + random.nextInt(200),
              timestamp - random.nextInt(20),
              random.nextLong());
    };
  }

  void append(int count) throws IOException {
    List<LogEntry> entries = new ArrayList<>();
    ModelLog after = model.copy();
    possible.clear();
    possible.add(model.copy());
    for (int i = 0; i < count; i++) {
      long term = after.lastTerm() + (random.nextInt(10) == 0 ? 1 + random.nextInt(2) : 0);
      LogEntry entry = new LogEntry(after.lastIndex() + 1, term, randomBatch());
      entries.add(entry);
      after.append(entry);
    }
    // Any number of the new entries may be found after a crash.
    possible.add(after);
    log.append(entries);
    model = after;
    if (config.fsync() == FsyncPolicy.ALWAYS) {
      durable = model.lastIndex();
    }
    possible.clear();
  }

  void sync() throws IOException {
    log.sync();
    durable = model.lastIndex();
    assertThat(log.dirty()).isFalse();
  }

  void truncate(long lastIndexKept) throws IOException {
    ModelLog after = model.copy();
    after.truncate(lastIndexKept);
    possible.clear();
    possible.add(model.copy());
    possible.add(after);
    durable = Math.min(durable, lastIndexKept);
    checkpoint = Math.min(checkpoint, lastIndexKept);
    log.truncateSuffix(lastIndexKept);
    model = after;
    durable = model.lastIndex();
    possible.clear();
  }

  void reset(long nextIndex, long nextOffset) throws IOException {
    possible.clear();
    possible.add(model.copy());
    ModelLog after = new ModelLog(nextIndex, nextOffset);
    possible.add(after);
    // If the only old segment has the new one's name, there is a moment without any.
    possible.add(new ModelLog(1, 0));
    durable = 0;
    checkpoint = 0;
    log.reset(nextIndex, nextOffset);
    left.clear();
    model = after;
    durable = model.lastIndex();
    possible.clear();
  }

  /** The owner stores a checkpoint: the log is synced to it first. */
  void checkpoint() throws IOException {
    sync();
    storedMark = log.syncMark();
    checkpoint = Math.max(model.firstIndex - 1, model.lastIndex() - random.nextInt(5));
  }

  /** Segments leave from the begin of the log; their files are deleted now, or not yet. */
  void drop(Random choice) throws IOException {
    long offset = model.logEnd() - choice.nextInt((int) (model.logEnd() - model.firstOffset) + 1);
    possible.clear();
    possible.add(model.copy());
    log.prefix().closeActiveBelow(offset);
    long first = log.prefix().firstIndexAbove(offset, checkpoint);
    if (first > model.firstIndex) {
      log.prefix().drop(first);
      left.addAll(model.items.subList(0, (int) (first - model.firstIndex)));
      model = model.from(first);
      durable = model.lastIndex();
      possible.set(0, model.copy());
      checkDropped(choice);
    }
    if (choice.nextBoolean()) {
      assertThat(log.prefix().deleteDropped(0, 0, 0)).isEqualTo(Long.MAX_VALUE);
      assertThat(log.prefix().droppedBytes()).isZero();
      left.clear();
    }
    possible.clear();
  }

  /** Until files are deleted, a late reader by index finds what was there. */
  private void checkDropped(Random choice) throws IOException {
    ModelLog.Item item = left.get(choice.nextInt(left.size()));
    assertThat(log.read(item.index())).isNull();
    if (item.index() >= log.prefix().firstReadableIndex()) {
      assertThat(log.prefix().termOfDropped(item.index())).isEqualTo(item.term());
      assertThat(log.prefix().readDropped(item.index())).isEqualTo(item.stored());
    }
  }

  /** A clean restart; what was dropped and not deleted is there again. */
  void reopen() throws IOException {
    close();
    open();
    model = model.withFront(left, log.firstIndex());
    forgetLeft();
  }

  /** A file whose deletion was killed before it was durable can come back with a power cut. */
  private void forgetLeft() {
    left.removeIf(item -> item.index() >= model.firstIndex);
  }

  void storeMark() {
    storedMark = log.syncMark();
  }

  void close() throws IOException {
    log.close();
    durable = model.lastIndex();
    log = null;
  }

  /** Random operation of a kind, 0..99. */
  void step(int kind) throws IOException {
    if (kind < 50) {
      append(1 + random.nextInt(6));
    } else if (kind < 60) {
      append(1);
    } else if (kind < 68) {
      sync();
    } else if (kind < 74) {
      storeMark();
    } else if (kind < 79) {
      checkpoint();
    } else if (kind < 88) {
      truncate(model.lastIndex() - random.nextInt(Math.min(model.items.size(), 12) + 1));
    } else if (kind < 90) {
      truncate(model.lastIndex() - random.nextInt(model.items.size() + 1));
    } else if (kind < 91) {
      reset(model.lastIndex() + 1 + random.nextInt(3), model.logEnd() + random.nextInt(3));
    } else if (kind < 96) {
      reopen();
    } else {
      model.check(log, random);
    }
  }

  /** The process ends, or the machine; then the log is opened again until it succeeds. */
  void crashAndRecover(boolean power) throws IOException {
    // After a failed fsync a start cuts back to the mark, and may be killed when it has.
    boolean failed = log == null || log.failed();
    disk.kill();
    if (power) {
      disk.powerLoss();
    } else {
      disk.restart();
    }
    for (int attempt = 0; random.nextInt(3) == 0 && attempt < 3; attempt++) {
      disk.killAfter(1 + random.nextInt(8));
      try {
        open();
        // It had fewer operations to do.
        disk.kill();
      } catch (IOException e) {
        assertThat(disk.isDead()).as("open failed: %s", e).isTrue();
      }
      if (power && random.nextInt(3) == 0) {
        disk.powerLoss();
      } else {
        disk.restart();
      }
    }
    open();
    adopt(power || failed);
  }

  /** Finds out in which of the possible states the log is, and checks that it is one of them. */
  void adopt(boolean mayLose) throws IOException {
    List<ModelLog> states = possible.isEmpty() ? List.of(model) : List.copyOf(possible);
    ModelLog found = null;
    for (ModelLog each : states) {
      ModelLog state = each.withFront(left, log.firstIndex());
      if (state.firstIndex == log.firstIndex()
          && state.firstOffset == log.logStart()
          && state.lastIndex() >= log.lastIndex()
          && log.lastIndex() >= state.firstIndex - 1) {
        ModelLog candidate = state.copy();
        candidate.truncate(log.lastIndex());
        if (candidate.items.isEmpty()
            || candidate
                .items
                .get(candidate.items.size() - 1)
                .stored()
                .equals(log.read(log.lastIndex()))) {
          found = candidate;
        }
      }
    }
    assertThat(found)
        .as("log %d to %d is none of the possible states", log.firstIndex(), log.lastIndex())
        .isNotNull();
    assertThat(log.lastIndex()).as("acked entries present").isGreaterThanOrEqualTo(durable);
    if (!mayLose && possible.isEmpty()) {
      assertThat(log.lastIndex()).as("a kill loses nothing").isEqualTo(model.lastIndex());
    }
    model = found;
    forgetLeft();
    possible.clear();
    model.check(log, random);
    if (config.fsync() != FsyncPolicy.OS) {
      durable = model.lastIndex();
    }
  }
}
