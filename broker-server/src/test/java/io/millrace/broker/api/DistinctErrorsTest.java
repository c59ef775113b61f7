package io.millrace.broker.api;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

class DistinctErrorsTest {

  private final Logger logger = (Logger) LoggerFactory.getLogger("distinct-errors");
  private final ListAppender<ILoggingEvent> appender = new ListAppender<>();
  private final DistinctErrors errors = new DistinctErrors(logger);

  @BeforeEach
  void listen() {
    appender.start();
    logger.addAppender(appender);
    logger.setAdditive(false);
    logger.setLevel(Level.INFO);
  }

  @AfterEach
  void stop() {
    logger.detachAppender(appender);
  }

  @Test
  void logsEachErrorOnceAndCountsAll() {
    for (int i = 0; i < 100; i++) {
      errors.record("reading", new IllegalStateException("number " + i));
      errors.record("writing", new IllegalStateException("number " + i));
      errors.recordEvent("close GARBAGE", "connection from " + i + " closed");
    }
    assertThat(errors.total()).isEqualTo(300);
    assertThat(appender.list.stream().map(ILoggingEvent::getFormattedMessage))
        .containsExactly(
            "reading failed; further errors like this are counted only",
            "writing failed; further errors like this are counted only",
            "connection from 0 closed; further events like this are counted only");
    assertThat(appender.list.get(0).getThrowableProxy().getMessage()).isEqualTo("number 0");
  }

  @Test
  void theNumberOfKindsIsBounded() {
    for (int i = 0; i < 10_000; i++) {
      errors.recordEvent("key " + i, "event " + i);
    }
    assertThat(errors.total()).isEqualTo(10_000);
    assertThat(appender.list).hasSize(DistinctErrors.MAX_DISTINCT);
  }
}
