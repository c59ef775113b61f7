package io.millrace.broker;

import io.millrace.broker.log.DirectDisk;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs one broker: {@code --config FILE}. Prints one line {@code READY broker=N listen=HOST:PORT}
 * on standard output when it listens. Ends cleanly on SIGTERM; ends with status 1 and one line on
 * standard error when it cannot start or must not go on.
 */
public final class BrokerMain {

  private static final Logger LOG = LoggerFactory.getLogger(BrokerMain.class);

  private BrokerMain() {}

  public static void main(String[] arguments) {
    if (arguments.length != 2 || !arguments[0].equals("--config")) {
      fail("usage: --config FILE, a properties file; see docs/reference for its keys", 2);
    }
    try {
      run(Path.of(arguments[1]));
    } catch (ConfigException | DataDirectoryException | IOException | UncheckedIOException e) {
      fail(e.getMessage(), 1);
    } catch (RuntimeException | Error e) {
      LOG.error("the broker cannot start", e);
      fail("the broker cannot start: " + e + "; its log has the details", 1);
    }
  }

  private static void run(Path configFile) throws IOException {
    BrokerConfig config = BrokerConfig.load(configFile);
    LOG.info("configuration:\n{}", config.describe());
    CountDownLatch ended = new CountDownLatch(1);
    Broker broker = Broker.start(config, new DirectDisk(), BrokerMain::failLater);
    Thread hook =
        new Thread(
            () -> {
              broker.close();
              ended.countDown();
            },
            "shutdown");
    Runtime.getRuntime().addShutdownHook(hook);
    System.out.println(
        "READY broker="
            + config.brokerId()
            + " listen="
            + broker.address().getHostString()
            + ":"
            + broker.address().getPort());
    try {
      ended.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Ends the process from another thread, since the shutdown hook must be able to run. */
  private static void failLater(String reason) {
    Thread ending = new Thread(() -> fail(reason, 1), "fatal");
    ending.start();
  }

  private static void fail(String reason, int status) {
    System.err.println("millrace broker: " + reason);
    System.exit(status);
  }
}
