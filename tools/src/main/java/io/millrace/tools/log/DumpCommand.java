package io.millrace.tools.log;

import io.millrace.broker.ControlContents;
import io.millrace.broker.StoredFiles;
import io.millrace.broker.log.LogFormatException;
import io.millrace.broker.log.Pacer;
import io.millrace.broker.log.SegmentChangedException;
import io.millrace.broker.log.SegmentName;
import io.millrace.broker.log.SegmentReading;
import io.millrace.broker.log.SegmentVerifier.Patience;
import io.millrace.broker.log.SegmentWalk;
import io.millrace.broker.log.StoredBatch;
import io.millrace.broker.raft.storage.StoredVotes;
import io.millrace.tools.CommandFailure;
import io.millrace.tools.ExitCodes;
import io.millrace.tools.MillraceCommand;
import io.millrace.tools.UsageFailure;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code millrace log dump}: every batch of a segment, a log, or all logs of a broker. */
@Command(
    name = "dump",
    description = {
      "Print the batches of a segment file, of a partition's directory, or of a broker's data"
          + " directory; of votes.a or votes.b the votes. Nothing is changed, and the broker may"
          + " run.",
      "Exit code 1 if something in the middle cannot be read."
    })
final class DumpCommand implements Callable<Integer> {
  private static final int LOOK_AT_OUTPUT_EVERY = 256;

  private final MillraceCommand root;

  @Parameters(paramLabel = "PATH", description = "A segment (*.log), votes file, or directory")
  private Path path;

  @Option(
      names = "--annotate",
      description = "Every batch field by field, with positions and bytes: to learn the format")
  private boolean annotate;

  @Option(names = "--records", description = "Print the records of each batch, shortened")
  private boolean records;

  @Option(
      names = "--from-index",
      paramLabel = "N",
      description = "Begin with the entry of this Raft index")
  private long fromIndex;

  @Option(
      names = "--from-offset",
      paramLabel = "N",
      description = "Begin with the batch that holds the record at this offset")
  private long fromOffset;

  @Option(names = "--limit", paramLabel = "N", description = "End after so many batches")
  private long limit = Long.MAX_VALUE;

  private final Patience patience = LiveFiles.patience();
  private DumpPrinter printer;
  private boolean damaged;
  private long printed;

  DumpCommand(MillraceCommand root) {
    this.root = root;
  }

  @Override
  public Integer call() throws IOException {
    check();
    StoredFiles.Kind kind = LiveFiles.kindOf(path);
    printer = new DumpPrinter(root.output().form(), root.terminal().out(), annotate, records);
    try {
      switch (kind) {
        case SEGMENT -> dump(path, LiveFiles.isNewest(path));
        case LOG -> dumpLog(path);
        case DATA -> {
          for (Path log : StoredFiles.logs(LiveFiles.DISK, path)) {
            dumpLog(log);
          }
        }
        case VOTES_FILE -> dumpVotes();
        case OTHER -> throw new IllegalStateException(path + " was refused before");
      }
    } catch (LogFormatException e) {
      throw new CommandFailure(e.getMessage(), e);
    } finally {
      root.terminal().out().flush();
    }
    return damaged ? ExitCodes.FAILED : ExitCodes.OK;
  }

  private void check() {
    if (fromIndex < 0 || fromOffset < 0) {
      throw new UsageFailure(
          "--from-index " + fromIndex + ", --from-offset " + fromOffset + ": not below 0");
    }
    if (fromIndex > 0 && fromOffset > 0) {
      throw new UsageFailure("--from-index and --from-offset: give one of them");
    }
    if (limit < 1) {
      throw new UsageFailure("--limit " + limit + " is below 1; leave it out to print all");
    }
  }

  private void dumpLog(Path directory) throws IOException {
    List<Path> segments = StoredFiles.segments(LiveFiles.DISK, directory);
    for (int i = 0; i < segments.size() && limit > 0; i++) {
      boolean newest = i == segments.size() - 1;
      if (!newest && endsBefore(segments.get(i + 1))) {
        continue;
      }
      try {
        dump(segments.get(i), newest);
      } catch (NoSuchFileException e) {
        root.progress().step(segments.get(i) + " was removed meanwhile");
      } catch (SegmentChangedException e) {
        root.progress().step(segments.get(i) + " was cut meanwhile: " + e.getMessage());
      }
    }
  }

  /** What is asked for begins in the next segment, or behind it. */
  private boolean endsBefore(Path next) {
    SegmentName name = SegmentName.parse(next);
    return fromIndex > 0 && name.firstIndex() <= fromIndex
        || fromOffset > 0 && name.baseOffset() <= fromOffset;
  }

  private void dump(Path segment, boolean newest) throws IOException {
    var reading = new SegmentReading(Pacer.NONE, ControlContents::logTimeOf, fromIndex, fromOffset);
    try (SegmentWalk walk = SegmentWalk.open(LiveFiles.DISK, segment, reading)) {
      printer.segment(segment, walk);
      int attempt = 0;
      while (limit > 0) {
        StoredBatch batch = walk.next();
        if (batch != null) {
          attempt = 0;
          if (isWanted(batch)) {
            printer.batch(batch, walk);
            limit--;
            endIfNobodyReads();
          }
          continue;
        }
        if (walk.stop() == SegmentWalk.Stop.END || walk.stop() == SegmentWalk.Stop.FOOT) {
          return;
        }
        if (newest && patience.lookAgain(attempt++)) {
          walk.lookAgain();
          continue;
        }
        boolean cutShort = newest && walk.stop() == SegmentWalk.Stop.SHORT;
        long position = walk.position();
        String reason = walk.reason();
        boolean goesOn = walk.skip();
        printer.bad(position, goesOn ? walk.position() : walk.end(), reason);
        damaged |= goesOn || !cutShort;
        if (!goesOn) {
          return;
        }
      }
    }
  }

  /** As with {@code log dump ... | head}: the rest would be read for nothing. */
  private void endIfNobodyReads() {
    if (++printed % LOOK_AT_OUTPUT_EVERY == 0 && root.terminal().out().checkError()) {
      limit = 0;
    }
  }

  private boolean isWanted(StoredBatch batch) {
    if (batch.kind() != StoredBatch.Kind.ENTRY) {
      return true;
    }
    boolean before =
        batch.controlType() == StoredBatch.RECORDS
            ? batch.header().nextOffset() <= fromOffset
            : batch.header().baseOffset() < fromOffset;
    return batch.index() >= fromIndex && !before;
  }

  private void dumpVotes() throws IOException {
    StoredVotes.Copy copy;
    try {
      copy = StoredVotes.read(LiveFiles.DISK, path);
    } catch (IOException e) {
      throw new CommandFailure(e.getMessage(), e);
    }
    if (!copy.readable()) {
      throw new CommandFailure(path + " does not begin as a votes file");
    }
    damaged = !copy.clean();
    root.output().fields(VotesText.fields(copy));
  }
}
