package io.millrace.tools.log;

import io.millrace.broker.ControlContents;
import io.millrace.broker.ReplicaVerifier;
import io.millrace.broker.StoredFiles;
import io.millrace.broker.log.LogFormatException;
import io.millrace.broker.log.LogReport;
import io.millrace.broker.log.LogVerifier;
import io.millrace.broker.log.Pacer;
import io.millrace.broker.log.RatePacer;
import io.millrace.broker.log.SegmentVerifier;
import io.millrace.broker.log.SegmentVerifier.Patience;
import io.millrace.broker.raft.storage.StoredVotes;
import io.millrace.tools.CommandFailure;
import io.millrace.tools.ExitCodes;
import io.millrace.tools.MillraceCommand;
import io.millrace.tools.Progress;
import io.millrace.tools.Quantities;
import io.millrace.tools.UsageFailure;
import io.millrace.tools.Words;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code millrace log verify}: reads every byte and says what of it is wrong. */
@Command(
    name = "verify",
    description = {
      "Read a segment file, a partition's directory, a broker's data directory or its votes files"
          + " to the end and check everything that is known of them: checksums, order of entries,"
          + " offsets and terms, heads and footers, indexes, sync marks, checkpoints.",
      "Nothing is changed, and the broker may run. Exit code 1 if damage is found."
    })
final class VerifyCommand implements Callable<Integer> {
  private final MillraceCommand root;
  private final Patience patience = LiveFiles.patience();

  @Parameters(paramLabel = "PATH", description = "A segment (*.log), votes file, or directory")
  private Path path;

  @Option(
      names = "--rate",
      paramLabel = "SIZE",
      converter = Quantities.BytesConverter.class,
      description = "Read so much a second at most, as 50m, to leave the disk to others")
  private Long bytesPerSecond;

  VerifyCommand(MillraceCommand root) {
    this.root = root;
  }

  @Override
  public Integer call() throws IOException {
    if (bytesPerSecond != null && bytesPerSecond < 1) {
      throw new UsageFailure("--rate " + bytesPerSecond + " is below 1; leave it out for no limit");
    }
    StoredFiles.Kind kind = LiveFiles.kindOf(path);
    var result = new VerifyResult(path);
    Progress progress = root.progress();
    try {
      switch (kind) {
        case SEGMENT -> verifySegment(result, pacer(progress, bytesOf(List.of(path))));
        case LOG -> verifyLogs(result, List.of(path), progress);
        case DATA -> verifyData(result, progress);
        case VOTES_FILE -> verifyVotes(result, path.toAbsolutePath().getParent());
        case OTHER -> throw new IllegalStateException(path + " was refused before");
      }
    } finally {
      progress.clear();
    }
    root.output().fields(result.fields());
    return result.damages() == 0 ? ExitCodes.OK : ExitCodes.FAILED;
  }

  private void verifySegment(VerifyResult result, Pacer pacer) throws IOException {
    LogVerifier verifier =
        new LogVerifier(
            LiveFiles.DISK,
            new SegmentVerifier(LiveFiles.DISK, pacer, ControlContents::logTimeOf),
            patience);
    LogReport report;
    try {
      report = verifier.verifySegment(path, LiveFiles.isNewest(path));
    } catch (LogFormatException e) {
      throw new CommandFailure(e.getMessage(), e);
    }
    result.add(report, report.problems());
  }

  private void verifyData(VerifyResult result, Progress progress) throws IOException {
    result.add(StoredFiles.identityProblems(LiveFiles.DISK, path));
    verifyVotes(result, StoredFiles.raft(path));
    verifyLogs(result, StoredFiles.logs(LiveFiles.DISK, path), progress);
  }

  private void verifyVotes(VerifyResult result, Path directory) throws IOException {
    StoredVotes.Report votes = StoredVotes.verify(LiveFiles.DISK, directory, patience);
    result.groups(votes.better().latest().size());
    result.add(votes.problems());
  }

  private void verifyLogs(VerifyResult result, List<Path> logs, Progress progress)
      throws IOException {
    ReplicaVerifier verifier =
        new ReplicaVerifier(LiveFiles.DISK, pacer(progress, bytesOf(logs)), patience);
    for (Path log : logs) {
      try {
        ReplicaVerifier.Report report = verifier.verify(log);
        result.add(report.log(), report.problems());
      } catch (NoSuchFileException e) {
        if (Files.exists(log)) {
          throw e;
        }
        progress.step(log + " was removed meanwhile");
      }
    }
  }

  private static long bytesOf(List<Path> paths) throws IOException {
    long bytes = 0;
    for (Path each : paths) {
      List<Path> files =
          Files.isDirectory(each) ? StoredFiles.segments(LiveFiles.DISK, each) : List.of(each);
      for (Path file : files) {
        // Only for the progress: one that is gone by now counts nothing.
        bytes += Files.exists(file) ? Files.size(file) : 0;
      }
    }
    return bytes;
  }

  private Pacer pacer(Progress progress, long total) {
    Pacer rate = bytesPerSecond == null ? Pacer.NONE : RatePacer.ofSystem(bytesPerSecond);
    long[] done = new long[1];
    return bytes -> {
      rate.beforeRead(bytes);
      done[0] += bytes;
      if (progress.due()) {
        progress.show(
            "verified "
                + Words.bytes(done[0])
                + " of about "
                + Words.bytes(Math.max(total, done[0])));
      }
    };
  }
}
