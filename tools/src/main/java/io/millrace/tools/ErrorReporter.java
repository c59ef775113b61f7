package io.millrace.tools;

import io.millrace.broker.ConfigException;
import io.millrace.broker.DataDirectoryException;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.error.MillraceException;
import io.millrace.protocol.error.Outcome;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Instant;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;
import picocli.CommandLine;
import picocli.CommandLine.IExecutionExceptionHandler;
import picocli.CommandLine.IParameterExceptionHandler;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParseResult;
import picocli.CommandLine.UnmatchedArgumentException;

/**
 * The one place that turns a failure into an exit code and one line on standard error. A stack
 * trace never reaches the terminal: that of a failure nobody foresaw goes to a file that the line
 * names.
 */
final class ErrorReporter implements IExecutionExceptionHandler, IParameterExceptionHandler {
  private static final String PREFIX = "millrace: ";

  private final Terminal terminal;
  private final Path detailsDirectory;

  ErrorReporter(Terminal terminal, Path detailsDirectory) {
    this.terminal = terminal;
    this.detailsDirectory = detailsDirectory;
  }

  @Override
  public int handleParseException(ParameterException failure, String[] args) {
    CommandLine command = failure.getCommandLine();
    var line = new StringBuilder(firstLine(failure.getMessage()));
    if (failure instanceof UnmatchedArgumentException unmatched) {
      var suggestions = unmatched.getSuggestions();
      if (!suggestions.isEmpty()) {
        line.append("; did you mean ").append(String.join(" or ", suggestions)).append('?');
      }
    }
    line.append(" (see: ").append(command.getCommandSpec().qualifiedName()).append(" --help)");
    print(line.toString());
    return ExitCodes.USAGE;
  }

  @Override
  public int handleExecutionException(
      Exception failure, CommandLine command, ParseResult parseResult) {
    return report(failure, command.getCommandSpec().qualifiedName());
  }

  int report(Throwable failure, String commandName) {
    Throwable cause = unwrapped(failure);
    if (cause instanceof UsageFailure) {
      print(firstLine(cause.getMessage()) + " (see: " + commandName + " --help)");
      return ExitCodes.USAGE;
    }
    if (cause instanceof MillraceException typed && typed.code() == ErrorCode.INVALID_ARGUMENT) {
      print(firstLine(cause.getMessage()));
      return ExitCodes.USAGE;
    }
    if (cause instanceof InterruptedException) {
      Thread.currentThread().interrupt();
    }
    print(describe(cause, commandName));
    return ExitCodes.FAILED;
  }

  private void print(String line) {
    terminal.out().flush();
    terminal.err().println(PREFIX + line);
  }

  private String describe(Throwable failure, String commandName) {
    if (failure instanceof CommandFailure
        || failure instanceof ConfigException
        || failure instanceof DataDirectoryException) {
      return firstLine(failure.getMessage());
    }
    if (failure instanceof MillraceException typed) {
      // The message begins with the name of the code.
      return firstLine(typed.getMessage())
          + (typed.outcome() == Outcome.UNKNOWN ? " (outcome unknown)" : "");
    }
    if (failure instanceof TimeoutException) {
      return "timed out: " + firstLine(failure.getMessage());
    }
    if (failure instanceof InterruptedException) {
      return "interrupted";
    }
    if (failure instanceof NoSuchFileException missing) {
      return "no such file: " + missing.getFile();
    }
    if (failure instanceof AccessDeniedException denied) {
      return "access denied: " + denied.getFile();
    }
    if (failure instanceof FileAlreadyExistsException exists) {
      return "file exists already: " + exists.getFile();
    }
    if (failure instanceof FileSystemException || failure instanceof IOException) {
      return "input or output failed: " + firstLine(failure.getMessage());
    }
    return "unexpected "
        + failure.getClass().getSimpleName()
        + ": "
        + firstLine(failure.getMessage())
        + "; "
        + writeDetails(failure, commandName);
  }

  private String writeDetails(Throwable failure, String commandName) {
    var trace = new StringWriter();
    failure.printStackTrace(new PrintWriter(trace, true));
    String entry = Instant.now() + " " + commandName + System.lineSeparator() + trace;
    Path directory =
        Files.isDirectory(detailsDirectory)
            ? detailsDirectory
            : Path.of(System.getProperty("java.io.tmpdir"));
    Path file = directory.resolve("millrace-errors.log");
    try {
      Files.writeString(file, entry, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
      return "details: " + file;
    } catch (IOException e) {
      return "details could not be written to " + file + " (" + e.getMessage() + ")";
    }
  }

  static Throwable unwrapped(Throwable failure) {
    Throwable cause = failure;
    while ((cause instanceof ExecutionException || cause instanceof CompletionException)
        && cause.getCause() != null) {
      cause = cause.getCause();
    }
    return cause;
  }

  private static String firstLine(String text) {
    if (text == null || text.isBlank()) {
      return "no further text";
    }
    return text.strip().lines().findFirst().orElseThrow();
  }
}
