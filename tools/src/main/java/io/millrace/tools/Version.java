package io.millrace.tools;

import picocli.CommandLine.IVersionProvider;

/** Text of {@code --version}. */
final class Version implements IVersionProvider {
  @Override
  public String[] getVersion() {
    String version = Version.class.getPackage().getImplementationVersion();
    return new String[] {
      "millrace " + (version == null ? "development build" : version),
      "Java " + System.getProperty("java.version") + " (" + System.getProperty("java.vendor") + ")"
    };
  }
}
