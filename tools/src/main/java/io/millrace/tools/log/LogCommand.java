package io.millrace.tools.log;

import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code millrace log ...}: the files of a broker, read and never changed. */
@Command(
    name = "log",
    description = "Look into the files of a broker; they are only read, also while it runs.",
    subcommands = {DumpCommand.class, VerifyCommand.class})
public final class LogCommand implements Runnable {
  @Spec private CommandSpec spec;

  @Override
  public void run() {
    throw new ParameterException(spec.commandLine(), "a command is missing after 'log'");
  }
}
