package io.millrace.broker.log;

import java.nio.file.Path;

/**
 * Something that is not as it should be with stored files.
 *
 * @param file the file, or the directory, that it is about
 */
public record LogProblem(Severity severity, Path file, String text) {

  /** What it means. */
  public enum Severity {
    /** What was stored is not there, or cannot be believed. */
    DAMAGE,
    /** Written by a newer version; this one can tell nothing about it. */
    NEWER_FORMAT,
    /** Puts itself right: derived files, and what a killed process leaves. */
    WARNING
  }

  public boolean isDamage() {
    return severity != Severity.WARNING;
  }

  @Override
  public String toString() {
    return file + ": " + text;
  }
}
