package io.millrace.broker.cluster;

import java.util.Comparator;
import java.util.PriorityQueue;

/** A clock that only moves when a test says so; due tasks run on the test's thread, in order. */
final class ManualScheduler implements Scheduler {

  private record Task(long at, long order, Runnable action) {}

  private final PriorityQueue<Task> tasks =
      new PriorityQueue<>(Comparator.comparingLong(Task::at).thenComparingLong(Task::order));
  private long now = 1_000;
  private long order;

  @Override
  public long nowMillis() {
    return now;
  }

  @Override
  public Scheduled schedule(long delayMillis, Runnable task) {
    Task scheduled = new Task(now + Math.max(0, delayMillis), order++, task);
    tasks.add(scheduled);
    return () -> tasks.remove(scheduled);
  }

  void advance(long millis) {
    long end = now + millis;
    while (!tasks.isEmpty() && tasks.peek().at() <= end) {
      Task task = tasks.remove();
      now = Math.max(now, task.at());
      task.action().run();
    }
    now = end;
  }

  int size() {
    return tasks.size();
  }
}
