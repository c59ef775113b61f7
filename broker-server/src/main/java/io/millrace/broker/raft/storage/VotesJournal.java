package io.millrace.broker.raft.storage;

import io.millrace.broker.log.Disk;
import io.millrace.broker.log.SyncMark;
import io.millrace.broker.raft.message.GroupRecord;
import io.millrace.broker.raft.message.StoredHealth;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.UnaryOperator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Terms, votes, health and sync marks of all replicas of a broker, in two identical files.
 *
 * <p>Owns: {@code votes.a} and {@code votes.b} and the thread that writes them.
 *
 * <p>Threads: all methods from any thread. Changes that arrive while a write runs go into the next
 * one together (group commit), so many elections at once cost few fsyncs.
 *
 * <p>Durability: {@link #saveVote} and {@link #saveHealth} return when the record is fsynced in
 * both files; a's fsync ends before b's begins, so a crash can tear only one of them. {@link
 * #saveMarks} does the same for many groups at once.
 *
 * <p>Errors: after a failed write every later call fails, since what the files hold is not known
 * any more (a failed fsync is not tried again). Both files damaged means that votes may be
 * forgotten: opening fails, and the broker's replicas must be replaced.
 */
public final class VotesJournal implements AutoCloseable {

  private static final Logger LOG = LoggerFactory.getLogger(VotesJournal.class);

  public static final String FILE_A = "votes.a";
  public static final String FILE_B = "votes.b";
  public static final short FORMAT_VERSION = VotesFile.VERSION;
  private static final String NEW_SUFFIX = ".new";

  private record Change(GroupRecord.Builder record, CompletableFuture<Void> durable) {}

  private final Disk disk;
  private final Path directory;
  private final Map<String, GroupState> states =
      new HashMap<>(); // what callers see; guarded by this
  private final Map<String, GroupRecord> written =
      new HashMap<>(); // what the files say; writer only
  private final List<Change> queue = new ArrayList<>(); // guarded by this
  private final Thread writer;
  private VotesFile a;
  private VotesFile b;
  private long sequence;
  private IOException failure; // guarded by this
  private boolean closed; // guarded by this

  private VotesJournal(Disk disk, Path directory, String threadName) {
    this.disk = disk;
    this.directory = directory;
    this.writer = new Thread(this::writeLoop, threadName);
    this.writer.setDaemon(true);
  }

  /** Makes empty votes files in a new directory. */
  public static void create(Disk disk, Path directory) throws IOException {
    VotesFile.create(disk, directory.resolve(FILE_A), List.of()).close();
    VotesFile.create(disk, directory.resolve(FILE_B), List.of()).close();
    disk.syncDirectory(directory);
  }

  /**
   * Opens the votes of a broker; a missing, torn or damaged copy is rebuilt from the other.
   *
   * @throws IOException if both copies are missing or damaged
   */
  public static VotesJournal open(Disk disk, Path directory, int brokerId) throws IOException {
    VotesJournal journal = new VotesJournal(disk, directory, "votes-" + brokerId);
    journal.load();
    journal.writer.start();
    return journal;
  }

  /** The format version in a votes file's header; -1 if it has none. */
  public static int formatOf(Disk disk, Path path) throws IOException {
    return FormatField.read(disk, path, VotesFile.MAGIC);
  }

  private void load() throws IOException {
    Path pathA = directory.resolve(FILE_A);
    Path pathB = directory.resolve(FILE_B);
    VotesFile.Content contentA = VotesFile.read(disk, pathA);
    VotesFile.Content contentB = VotesFile.read(disk, pathB);
    if (!contentA.clean() && !contentB.clean()) {
      throw new IOException(
          "both "
              + pathA
              + " and "
              + pathB
              + " are missing or damaged: votes may be forgotten, so no replica of this broker may"
              + " start; replace the broker");
    }
    // A copy with an unclean end has lost at least its last record; the clean one is complete,
    // except that a clean b can be one write behind a clean a.
    VotesFile.Content best =
        !contentA.clean()
            ? contentB
            : !contentB.clean() || contentA.lastSequence() >= contentB.lastSequence()
                ? contentA
                : contentB;
    for (GroupRecord record : best.records()) {
      sequence = record.getSequence();
      if (record.getRemoved()) {
        written.remove(record.getGroup());
        states.remove(record.getGroup());
      } else {
        written.put(record.getGroup(), record);
        states.put(record.getGroup(), toState(record));
      }
    }
    if (contentA.clean()
        && contentB.clean()
        && contentA.end() == contentB.end()
        && contentA.lastSequence() == contentB.lastSequence()) {
      a = VotesFile.open(disk, pathA, contentA);
      b = VotesFile.open(disk, pathB, contentB);
    } else {
      LOG.warn(
          "votes files differ ({} and {} bytes, {} and {}): rebuilding both from the better one",
          contentA.end(),
          contentB.end(),
          contentA.clean() ? "whole" : "torn or damaged",
          contentB.clean() ? "whole" : "torn or damaged");
      // The better copy must stay whole until the other one is.
      rewrite(best == contentA);
    }
  }

  /** State of one group; {@link GroupState#NEW} if nothing was ever stored. */
  public synchronized GroupState state(String group) {
    return states.getOrDefault(group, GroupState.NEW);
  }

  /** Whether anything was ever stored of the group. */
  public synchronized boolean knows(String group) {
    return states.containsKey(group);
  }

  public void saveVote(String group, long term, String votedFor) throws IOException {
    await(change(group, state -> state.withVote(term, votedFor)));
  }

  public void saveHealth(String group, StoredHealth health, String reason) throws IOException {
    await(change(group, state -> state.withHealth(health, reason)));
  }

  /** Stores the sync marks of many logs with one write. */
  public void saveMarks(Map<String, SyncMark> marks) throws IOException {
    List<CompletableFuture<Void>> all = new ArrayList<>();
    marks.forEach((group, mark) -> all.add(change(group, state -> state.withMark(mark))));
    for (CompletableFuture<Void> one : all) {
      await(one);
    }
  }

  /** Forgets a group whose replica left this broker for good. */
  public void remove(String group) throws IOException {
    CompletableFuture<Void> durable;
    synchronized (this) {
      states.remove(group);
      durable = enqueue(GroupRecord.newBuilder().setGroup(group).setRemoved(true));
    }
    await(durable);
  }

  private synchronized CompletableFuture<Void> change(
      String group, UnaryOperator<GroupState> step) {
    GroupState state = step.apply(state(group));
    states.put(group, state);
    return enqueue(toRecord(group, state));
  }

  private CompletableFuture<Void> enqueue(GroupRecord.Builder record) {
    CompletableFuture<Void> durable = new CompletableFuture<>();
    if (failure != null || closed) {
      durable.completeExceptionally(
          failure != null ? failure : new IOException("the votes files are closed"));
    } else {
      queue.add(new Change(record, durable));
      notifyAll();
    }
    return durable;
  }

  private static void await(CompletableFuture<Void> durable) throws IOException {
    try {
      durable.join();
    } catch (CompletionException e) {
      throw new IOException("cannot store votes: " + e.getCause().getMessage(), e.getCause());
    }
  }

  // ---------------------------------------------------------------------------- the writing thread

  private void writeLoop() {
    List<Change> batch = new ArrayList<>();
    while (true) {
      synchronized (this) {
        while (queue.isEmpty() && !closed) {
          try {
            wait();
          } catch (InterruptedException e) {
            closed = true;
          }
        }
        if (queue.isEmpty()) {
          return;
        }
        batch.addAll(queue);
        queue.clear();
      }
      try {
        write(batch);
        batch.forEach(change -> change.durable().complete(null));
      } catch (IOException | RuntimeException e) {
        fail(batch, e);
      }
      batch.clear();
    }
  }

  private void write(List<Change> batch) throws IOException {
    List<GroupRecord> records = new ArrayList<>(batch.size());
    for (Change change : batch) {
      GroupRecord record = change.record().setSequence(++sequence).build();
      records.add(record);
      if (record.getRemoved()) {
        written.remove(record.getGroup());
      } else {
        written.put(record.getGroup(), record);
      }
    }
    ByteBuffer encoded = VotesFile.encode(records);
    if (a.hasRoomFor(encoded.remaining()) && b.hasRoomFor(encoded.remaining())) {
      a.append(encoded);
      b.append(encoded);
    } else {
      rewrite(false);
    }
  }

  private synchronized void fail(List<Change> batch, Exception cause) {
    failure = cause instanceof IOException io ? io : new IOException(cause);
    LOG.error(
        "votes files cannot be written any more; this broker can neither vote nor lead", cause);
    batch.forEach(change -> change.durable().completeExceptionally(failure));
    queue.forEach(change -> change.durable().completeExceptionally(failure));
    queue.clear();
  }

  /**
   * Writes both files anew with one record per group. Each file replaces its old one by rename, one
   * after the other, so at every instant one complete file is in place.
   */
  private void rewrite(boolean bFirst) throws IOException {
    if (a != null) {
      a.close();
      b.close();
    }
    List<GroupRecord> records = new ArrayList<>();
    for (GroupRecord record : written.values()) {
      records.add(record.toBuilder().setSequence(++sequence).build());
    }
    if (bFirst) {
      b = replace(FILE_B, records);
      a = replace(FILE_A, records);
    } else {
      a = replace(FILE_A, records);
      b = replace(FILE_B, records);
    }
  }

  private VotesFile replace(String name, List<GroupRecord> records) throws IOException {
    Path target = directory.resolve(name);
    Path fresh = directory.resolve(name + NEW_SUFFIX);
    VotesFile file = VotesFile.create(disk, fresh, records);
    disk.rename(fresh, target);
    disk.syncDirectory(directory);
    return file;
  }

  private static GroupRecord.Builder toRecord(String group, GroupState state) {
    GroupRecord.Builder record =
        GroupRecord.newBuilder()
            .setGroup(group)
            .setTerm(state.term())
            .setVotedFor(state.votedFor())
            .setHealth(state.health())
            .setReason(state.reason());
    if (state.mark() != null) {
      record
          .setMarkIndex(state.mark().index())
          .setMarkSegment(state.mark().segmentFirstIndex())
          .setMarkPosition(state.mark().position());
    }
    return record;
  }

  private static GroupState toState(GroupRecord record) {
    SyncMark mark =
        record.getMarkIndex() == 0
            ? null
            : new SyncMark(
                record.getMarkIndex(), record.getMarkSegment(), record.getMarkPosition());
    return new GroupState(
        record.getTerm(), record.getVotedFor(), record.getHealth(), record.getReason(), mark);
  }

  /** Writes what is queued and closes the files. */
  @Override
  public void close() throws IOException {
    synchronized (this) {
      closed = true;
      notifyAll();
    }
    try {
      writer.join(10_000);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    a.close();
    b.close();
  }
}
