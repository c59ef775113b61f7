package io.millrace.broker.raft;

import io.millrace.broker.log.BadRange;
import io.millrace.broker.log.Disk;
import io.millrace.broker.log.LogDamagedException;
import io.millrace.broker.log.LogFormatException;
import io.millrace.broker.log.PartitionLog;
import io.millrace.broker.log.RatePacer;
import io.millrace.broker.log.SegmentReport;
import io.millrace.broker.log.SegmentVerifier;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Collection;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads every log of a broker from begin to end, slowly, again and again: a disk loses bits in what
 * nobody reads, and they can be had from another replica only as long as that one is whole.
 *
 * <p>A replica whose log is damaged stops, and is refilled from the first damaged segment on.
 *
 * <p>Owns: one daemon thread. What the page cache holds is read from there, so a bit that the disk
 * lost may be found only later.
 */
final class Scrubber implements AutoCloseable {

  private static final Logger LOG = LoggerFactory.getLogger(Scrubber.class);

  private final Disk disk;
  private final Supplier<Collection<Replica>> running;
  private final RaftSettings settings;
  private final RatePacer pacer;
  private final LongAdder checked = new LongAdder();
  private final LongAdder damaged = new LongAdder();
  private final Thread thread;
  private volatile boolean closed;

  /**
   * @param running the replicas whose logs are open now
   */
  Scrubber(int brokerId, Disk disk, Supplier<Collection<Replica>> running, RaftSettings settings) {
    this.disk = disk;
    this.running = running;
    this.settings = settings;
    this.pacer = RatePacer.ofSystem(settings.scrubBytesPerSecond());
    thread = new Thread(this::run, "scrub-" + brokerId);
    thread.setDaemon(true);
    thread.start();
  }

  /** Bytes that were read and found good or bad. */
  long checkedBytes() {
    return checked.sum();
  }

  /** Segments in which damage was found. */
  long damagedSegments() {
    return damaged.sum();
  }

  private void run() {
    while (!closed) {
      try {
        Thread.sleep(settings.scrubIntervalMillis());
        for (Replica replica : running.get()) {
          scrub(replica);
        }
      } catch (InterruptedException e) {
        return; // Only close interrupts, and only while nothing is read.
      } catch (RuntimeException e) {
        LOG.error("scrubbing failed and goes on with the next pass", e);
      }
    }
  }

  private void scrub(Replica replica) {
    try {
      for (Path segment : replica.log().segmentFiles()) {
        if (closed) {
          return;
        }
        BadRange bad = damageIn(replica, segment);
        // Once more: what is cut off or deleted in the middle of the reading looks like damage.
        if (bad != null && damageIn(replica, segment) != null) {
          damaged.increment();
          replica.storageFailed(
              new LogDamagedException(segment, bad.index(), bad.index(), false, bad.reason()));
          return;
        }
      }
    } catch (NoSuchFileException deleted) {
      LOG.debug("{}: a segment went while it was read", replica.name(), deleted);
    } catch (LogFormatException e) {
      damaged.increment();
      replica.storageFailed(e);
    } catch (IOException e) {
      if (!closed) {
        LOG.warn("{}: cannot be read to the end by the scrub: {}", replica.name(), e.getMessage());
      }
    }
  }

  /** The first bad place that was on the device before it was read; null = none. */
  private BadRange damageIn(Replica replica, Path segment) throws IOException {
    PartitionLog log = replica.log();
    long synced = log.syncMark().index();
    SegmentVerifier verifier = new SegmentVerifier(disk, this::beforeRead, replica::logTimeOf);
    SegmentReport report = verifier.verify(segment, SegmentVerifier.Patience.NONE);
    checked.add(report.fileBytes());
    for (BadRange bad : report.bad()) {
      if (bad.index() <= Math.min(synced, log.syncMark().index())
          && bad.index() >= log.firstIndex()) {
        return bad;
      }
    }
    return null;
  }

  private void beforeRead(int bytes) throws IOException {
    if (closed) {
      throw new IOException("the broker stops");
    }
    pacer.beforeRead(bytes);
  }

  @Override
  public void close() {
    closed = true;
    // Wakes it from a pause. A file it is just reading is its own, so nobody else loses it.
    thread.interrupt();
  }
}
