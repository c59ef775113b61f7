package io.millrace.broker.cluster;

import io.millrace.protocol.message.LeaderAnnouncement;
import java.util.Collection;
import java.util.TreeMap;
import java.util.function.Supplier;

/**
 * Tells the other brokers which partitions this one leads.
 *
 * <p>Owns: what has changed since the last announcement. New leaders go out together within {@link
 * #BATCH_MILLIS}; a lost leadership, for which the message has no field of its own, goes out as a
 * complete list. A complete list also goes to each newly connected broker and is repeated slowly,
 * so a lost or overtaken announcement heals by itself.
 *
 * <p>Threads: any; sending happens on the scheduler's thread or on the caller of peerConnected.
 */
public final class LeaderAnnouncer implements LeaderDirectory.Listener, AutoCloseable {

  /** How long a change waits for others, so that an election of many groups is a few messages. */
  public static final long BATCH_MILLIS = 5;

  public static final long REPEAT_MILLIS = 5000;

  /** Sends to one broker; never blocks, never throws; may lose it. */
  public interface Sender {
    void send(int brokerId, LeaderAnnouncement announcement);
  }

  private final int self;
  private final LeaderDirectory directory;
  private final Supplier<Collection<Integer>> otherBrokers;
  private final Sender sender;
  private final Scheduler scheduler;

  private final TreeMap<LeaderDirectory.Key, Long> gained = new TreeMap<>();
  private boolean lost;
  private Scheduler.Scheduled flush;
  private Scheduler.Scheduled repeat;
  private boolean closed;

  /**
   * @param otherBrokers ids to announce to, asked at each announcement
   */
  public LeaderAnnouncer(
      int localBrokerId,
      LeaderDirectory directory,
      Supplier<Collection<Integer>> otherBrokers,
      Sender sender,
      Scheduler scheduler) {
    self = localBrokerId;
    this.directory = directory;
    this.otherBrokers = otherBrokers;
    this.sender = sender;
    this.scheduler = scheduler;
  }

  /** Begins to announce. */
  public void start() {
    directory.addListener(this);
    repeatLater();
    sendToAll(directory.localLeaders());
  }

  @Override
  public void leadersChanged() {
    // Only what this broker leads is announced here.
  }

  @Override
  public synchronized void localLeaderChanged(LeaderDirectory.Key key, long term) {
    if (closed) {
      return;
    }
    if (term > 0) {
      gained.put(key, term);
    } else {
      gained.remove(key);
      lost = true;
    }
    if (flush == null) {
      flush = scheduler.schedule(BATCH_MILLIS, this::flush);
    }
  }

  private void flush() {
    LeaderAnnouncement announcement;
    synchronized (this) {
      flush = null;
      if (closed) {
        return;
      }
      announcement = lost ? directory.localLeaders() : gainedOnly();
      lost = false;
      gained.clear();
    }
    sendToAll(announcement);
  }

  private LeaderAnnouncement gainedOnly() {
    LeaderAnnouncement.Builder some = LeaderAnnouncement.newBuilder().setBrokerId(self);
    gained.forEach((key, term) -> some.addLed(LeaderDirectory.toMessage(key, term)));
    return some.build();
  }

  private synchronized void repeatLater() {
    if (!closed) {
      repeat = scheduler.schedule(REPEAT_MILLIS, this::repeat);
    }
  }

  private void repeat() {
    repeatLater();
    sendToAll(directory.localLeaders());
  }

  /** A connection to a broker is up: it may know nothing. */
  public void peerConnected(int brokerId) {
    sender.send(brokerId, directory.localLeaders());
  }

  private void sendToAll(LeaderAnnouncement announcement) {
    for (int broker : otherBrokers.get()) {
      if (broker != self) {
        sender.send(broker, announcement);
      }
    }
  }

  @Override
  public void close() {
    directory.removeListener(this);
    synchronized (this) {
      closed = true;
      if (flush != null) {
        flush.cancel();
      }
      if (repeat != null) {
        repeat.cancel();
      }
    }
  }
}
