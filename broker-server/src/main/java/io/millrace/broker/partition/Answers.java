package io.millrace.broker.partition;

import io.millrace.protocol.message.ProduceResult;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Answers that are decided under a lock and given when no lock is held.
 *
 * <p>Threads: one.
 */
final class Answers {

  private static final Logger LOG = LoggerFactory.getLogger(Answers.class);

  private record Answer<T>(Consumer<T> done, T result) {
    void giveIt() {
      Answers.give(done, result);
    }
  }

  private final List<Answer<?>> answers = new ArrayList<>(2);

  <T> void add(Consumer<T> done, T result) {
    if (done != null) {
      answers.add(new Answer<>(done, result));
    }
  }

  void addAll(List<Consumer<ProduceResult>> waiting, ProduceResult result) {
    waiting.forEach(done -> add(done, result));
  }

  void addAll(Answers others) {
    answers.addAll(others.answers);
  }

  boolean isEmpty() {
    return answers.isEmpty();
  }

  void give() {
    answers.forEach(Answer::giveIt);
  }

  /**
   * Gives one answer. A receiver that throws must not take the others, or the replica on whose
   * thread this runs, with it.
   */
  static <T> void give(Consumer<T> done, T result) {
    try {
      done.accept(result);
    } catch (RuntimeException e) {
      LOG.error("Could not hand over the result of a request", e);
    }
  }
}
