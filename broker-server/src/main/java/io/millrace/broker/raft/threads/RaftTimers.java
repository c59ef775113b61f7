package io.millrace.broker.raft.threads;

import com.alipay.sofa.jraft.core.Scheduler;
import com.alipay.sofa.jraft.util.SPI;
import com.alipay.sofa.jraft.util.timer.RaftTimerFactory;
import com.alipay.sofa.jraft.util.timer.Timeout;
import com.alipay.sofa.jraft.util.timer.Timer;
import com.alipay.sofa.jraft.util.timer.TimerTask;
import java.util.Set;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * JRaft's timers: one {@link TickTimer} for the heartbeats, elections, votes and leases of all
 * groups in this JVM. Found by JRaft through META-INF/services; the priority places it before the
 * stock one.
 *
 * <p>Timers are never stopped: every group calls stop on what all of them share.
 */
@SPI(name = "millrace", priority = 100)
public final class RaftTimers implements RaftTimerFactory {

  private static final Logger LOG = LoggerFactory.getLogger(RaftTimers.class);

  /** Elections that are hurried are staggered finely. */
  private static final long TICK_MILLIS = 5;

  /** 20 ms for election timeouts and leases, against a random part of 300 ms. */
  private static final int TIMER_LONG_TICKS = 4;

  /**
   * 100 ms for heartbeats, and for the pause after a failed request, which is as long: however many
   * groups there are, their heartbeats leave ten times a second.
   */
  private static final int SCHEDULER_LONG_TICKS = 20;

  private static final TickTimer TICKS =
      new TickTimer("raft-ticks", TICK_MILLIS, RaftPools.timers());
  private static final Timer TIMER = new SharedTimer();
  private static final Scheduler SCHEDULER = new SharedScheduler();

  @Override
  public Timer getElectionTimer(boolean shared, String name) {
    return TIMER;
  }

  @Override
  public Timer getVoteTimer(boolean shared, String name) {
    return TIMER;
  }

  @Override
  public Timer getStepDownTimer(boolean shared, String name) {
    return TIMER;
  }

  @Override
  public Timer getSnapshotTimer(boolean shared, String name) {
    return TIMER;
  }

  @Override
  public Scheduler getRaftScheduler(boolean shared, int workers, String name) {
    return SCHEDULER;
  }

  @Override
  public Timer createTimer(String name) {
    return TIMER;
  }

  @Override
  public Scheduler createScheduler(int workers, String name) {
    return SCHEDULER;
  }

  private static final class SharedTimer implements Timer {

    @Override
    public Timeout newTimeout(TimerTask task, long delay, TimeUnit unit) {
      PendingTimeout timeout = new PendingTimeout(task);
      timeout.scheduled = TICKS.schedule(timeout, delay, unit, TIMER_LONG_TICKS);
      return timeout;
    }

    @Override
    public Set<Timeout> stop() {
      return Set.of();
    }
  }

  private static final class PendingTimeout implements Timeout, Runnable {
    private final TimerTask task;
    private volatile TickTimer.Task scheduled;

    PendingTimeout(TimerTask task) {
      this.task = task;
    }

    @Override
    public void run() {
      try {
        task.run(this);
      } catch (Exception e) {
        LOG.error("a timer task of JRaft failed", e);
      }
    }

    @Override
    public Timer timer() {
      return TIMER;
    }

    @Override
    public TimerTask task() {
      return task;
    }

    @Override
    public boolean isExpired() {
      TickTimer.Task own = scheduled;
      return own != null && own.isStarted();
    }

    @Override
    public boolean isCancelled() {
      TickTimer.Task own = scheduled;
      return own != null && own.isCancelled();
    }

    @Override
    public boolean cancel() {
      TickTimer.Task own = scheduled;
      return own != null && own.cancel(false);
    }
  }

  private static final class SharedScheduler implements Scheduler {

    @Override
    public ScheduledFuture<?> schedule(Runnable command, long delay, TimeUnit unit) {
      return TICKS.schedule(command, delay, unit, SCHEDULER_LONG_TICKS);
    }

    @Override
    public ScheduledFuture<?> scheduleAtFixedRate(
        Runnable command, long initialDelay, long period, TimeUnit unit) {
      throw repeats();
    }

    @Override
    public ScheduledFuture<?> scheduleWithFixedDelay(
        Runnable command, long initialDelay, long delay, TimeUnit unit) {
      throw repeats();
    }

    private static UnsupportedOperationException repeats() {
      return new UnsupportedOperationException("JRaft 1.4.1 schedules nothing that repeats");
    }

    @Override
    public void shutdown() {
      // Shared by all groups.
    }
  }
}
