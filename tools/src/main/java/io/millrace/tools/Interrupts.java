package io.millrace.tools;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Lets a long-running command end well on Ctrl-C or SIGTERM: it is asked to stop, gets a bounded
 * time to print what it knows, and its own exit code becomes that of the process.
 *
 * <p>Threads: {@link #finished} and {@link #close} are called by the command's thread, the hook
 * runs on a thread of the JVM.
 */
public final class Interrupts implements AutoCloseable {
  private static final int NO_CODE = -1;

  private final CountDownLatch finished = new CountDownLatch(1);
  private final AtomicInteger exitCode = new AtomicInteger(NO_CODE);
  private final Thread hook;

  public Interrupts(Runnable askToStop, long graceMillis) {
    hook =
        new Thread(
            () -> {
              askToStop.run();
              try {
                if (finished.await(graceMillis, TimeUnit.MILLISECONDS)) {
                  Runtime.getRuntime().halt(exitCode.get());
                }
              } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
              }
            },
            "millrace-interrupt");
    Runtime.getRuntime().addShutdownHook(hook);
  }

  /** The command has printed everything; a pending stop of the process ends with this code. */
  public int finished(int code) {
    exitCode.set(code);
    finished.countDown();
    return code;
  }

  @Override
  public void close() {
    if (exitCode.get() == NO_CODE) {
      // The command failed: its error line is printed by the caller, outside our sight.
      exitCode.set(ExitCodes.FAILED);
    }
    try {
      Runtime.getRuntime().removeShutdownHook(hook);
    } catch (IllegalStateException shuttingDown) {
      // The hook is running already and takes the exit code from the latch.
      finished.countDown();
    }
  }
}
