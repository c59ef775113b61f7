package io.millrace.tools;

import io.millrace.tools.bench.BenchCommand;
import io.millrace.tools.load.LoadCommand;
import io.millrace.tools.local.BrokerCommand;
import io.millrace.tools.local.ClusterCommand;
import io.millrace.tools.local.ClusterHome;
import io.millrace.tools.log.LogCommand;
import io.millrace.tools.quickstart.QuickstartCommand;
import io.millrace.tools.records.ConsumeCommand;
import io.millrace.tools.records.ProduceCommand;
import io.millrace.tools.topic.TopicCommand;
import java.lang.reflect.Constructor;
import java.nio.file.Path;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.IFactory;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ScopeType;
import picocli.CommandLine.Spec;

/**
 * The {@code millrace} command: the root of the one command tree, the options that every command
 * has, and the only place that ends the process.
 */
@Command(
    name = "millrace",
    description = "A small, standalone, log-structured message broker.",
    mixinStandardHelpOptions = true,
    versionProvider = Version.class,
    scope = ScopeType.INHERIT,
    synopsisSubcommandLabel = "COMMAND",
    subcommands = {
      QuickstartCommand.class,
      ClusterCommand.class,
      BrokerCommand.class,
      TopicCommand.class,
      ProduceCommand.class,
      ConsumeCommand.class,
      LoadCommand.class,
      BenchCommand.class,
      LogCommand.class
    })
public final class MillraceCommand implements Runnable {
  private static final String LOGGING_PROPERTY = "logback.configurationFile";
  private static final String LOGGING = "millrace-tools-logback.xml";

  @Option(
      names = "--home",
      paramLabel = "DIR",
      scope = ScopeType.INHERIT,
      description = "Directory of the local cluster. Default: $MILLRACE_HOME, else ./data")
  private Path homeOption;

  @Option(
      names = "--output",
      paramLabel = "FORM",
      scope = ScopeType.INHERIT,
      description = "Form of the output: ${COMPLETION-CANDIDATES}. Default: table")
  private Output.Form outputForm = Output.Form.table;

  @Option(
      names = "--quiet",
      scope = ScopeType.INHERIT,
      description = "No progress on standard error; error lines only")
  private boolean quiet;

  @Spec private CommandSpec spec;

  private final Terminal terminal;

  MillraceCommand(Terminal terminal) {
    this.terminal = terminal;
  }

  public Terminal terminal() {
    return terminal;
  }

  public Output output() {
    return new Output(outputForm, terminal.out());
  }

  public Progress progress() {
    return new Progress(terminal, quiet);
  }

  public boolean quiet() {
    return quiet;
  }

  public ClusterHome home() {
    return new ClusterHome(ClusterHome.locate(homeOption, terminal.environment()));
  }

  @Override
  public void run() {
    throw new ParameterException(spec.commandLine(), "a command is missing");
  }

  public static void main(String[] args) {
    boolean broker = args.length > 1 && args[0].equals("broker") && args[1].equals("start");
    if (!broker && System.getProperty(LOGGING_PROPERTY) == null) {
      // Before the first logger exists. A broker has its own settings; a command logs errors only.
      System.setProperty(LOGGING_PROPERTY, LOGGING);
    }
    System.exit(execute(Terminal.system(), args));
  }

  /** Runs one command line and returns its exit code. */
  public static int execute(Terminal terminal, String... args) {
    var root = new MillraceCommand(terminal);
    var errors = new ErrorReporter(terminal, ClusterHome.locate(null, terminal.environment()));
    var commandLine = new CommandLine(root, new RootFactory(root));
    commandLine
        .setCaseInsensitiveEnumValuesAllowed(true)
        .setExecutionExceptionHandler(errors)
        .setParameterExceptionHandler(errors)
        .setOut(new java.io.PrintWriter(terminal.out(), true))
        .setErr(new java.io.PrintWriter(terminal.err(), true));
    try {
      return commandLine.execute(args);
    } finally {
      terminal.out().flush();
    }
  }

  /** Hands the root to the commands that ask for it in their constructor. */
  private record RootFactory(MillraceCommand root) implements IFactory {
    @Override
    public <K> K create(Class<K> type) throws Exception {
      for (Constructor<?> constructor : type.getDeclaredConstructors()) {
        Class<?>[] parameters = constructor.getParameterTypes();
        if (parameters.length == 1 && parameters[0] == MillraceCommand.class) {
          constructor.setAccessible(true);
          return type.cast(constructor.newInstance(root));
        }
      }
      return CommandLine.defaultFactory().create(type);
    }
  }
}
