package io.millrace.tools.local;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** How a broker's JVM is started: the one place of its options. */
final class BrokerJvm {
  /** Default of {@code --heap}. */
  static final String DEFAULT_HEAP = "512m";

  static final String MAIN_CLASS = "io.millrace.broker.BrokerMain";

  private static final int NATIVE_ACCESS_FROM = 22;
  private static final int UNSAFE_ACCESS_FROM = 23;

  private BrokerJvm() {}

  /**
   * The whole command line.
   *
   * @param javaFeature feature number of the Java that will run it, as 17
   */
  static List<String> command(
      Path java, int javaFeature, String classPath, String heap, List<String> more, Path config) {
    var command = new ArrayList<String>();
    command.add(java.toString());
    command.add("-Xmx" + heap);
    command.add("-XX:+UseG1GC");
    // A broker out of memory has promised nothing further: ending is safe, limping on is not.
    command.add("-XX:+ExitOnOutOfMemoryError");
    // Its counters live in a mapped file that the JVM writes every few milliseconds.
    command.add("-XX:+PerfDisableSharedMem");
    command.add("-Djava.awt.headless=true");
    // JRaft's messages were generated before protobuf 3.22; the run time refuses them otherwise.
    command.add("-Dcom.google.protobuf.use_unsafe_pre22_gencode=true");
    if (javaFeature >= NATIVE_ACCESS_FROM) {
      command.add("--enable-native-access=ALL-UNNAMED");
    }
    if (javaFeature >= UNSAFE_ACCESS_FROM) {
      command.add("--sun-misc-unsafe-memory-access=allow");
    }
    command.addAll(more);
    command.add("-cp");
    command.add(classPath);
    command.add(MAIN_CLASS);
    command.add("--config");
    command.add(config.toString());
    return command;
  }

  /** The Java that runs this command; bin/millrace chose it by JAVA_HOME or PATH. */
  static Path java() {
    return Path.of(System.getProperty("java.home"), "bin", "java");
  }
}
