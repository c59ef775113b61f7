package io.millrace.broker.partition;

import static io.millrace.broker.partition.FetchFixture.baseOffsets;
import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.broker.log.FetchSlice;
import io.millrace.broker.partition.FetchFixture.Fetch;
import io.millrace.protocol.message.FetchPartition;
import io.millrace.protocol.message.FetchRequest;
import io.millrace.protocol.message.FetchResult;
import java.util.Iterator;

/**
 * A reader with a limit of records, over all partitions of a fixture. It hands over nothing beyond
 * what the last answer that raised it allows, and does no arithmetic of its own.
 */
final class ReaderModel {

  private final FetchFixture fixture;
  private final long prefetch;
  private final long cap;
  private final int partitions;
  private final long[] position;
  private final long[] deliverUpTo;
  private final long[] handedOver;
  private final long[] processed;

  ReaderModel(FetchFixture fixture, long prefetch, long cap) {
    this.fixture = fixture;
    this.prefetch = prefetch;
    this.cap = cap;
    this.partitions = fixture.partitions.size();
    this.position = new long[partitions];
    this.deliverUpTo = new long[partitions];
    this.handedOver = new long[partitions];
    this.processed = new long[partitions];
  }

  private long inFlight() {
    long sum = 0;
    for (int i = 0; i < partitions; i++) {
      sum += position[i] - processed[i];
    }
    return sum;
  }

  /** Fetches once; true = records came. */
  boolean fetch(int maxBytes) {
    FetchRequest.Builder request =
        FetchRequest.newBuilder()
            .setMinBytes(1)
            .setMaxWaitMillis(500)
            .setMaxBytes(maxBytes)
            .setPrefetchRecords(prefetch)
            .setInFlightRecords(inFlight());
    boolean mustAnswer = false;
    for (int i = 0; i < partitions; i++) {
      long here = position[i] - processed[i];
      FetchPartition.Builder wanted =
          fixture.get(i).from(position[i]).setInFlightRecords(here).setPrefetchRecords(cap);
      request.addPartitions(wanted.setProcessed(processed[i]));
      boolean ready = fixture.get(i).partition.readableEnd() > position[i];
      mustAnswer |= ready && inFlight() < prefetch && (cap == 0 || here < cap);
    }
    Fetch fetch = fixture.fetch(request);
    assertThat(fetch.done()).as("ready data and credit imply an answer").isEqualTo(mustAnswer);
    if (!fetch.done()) {
      fixture.timer.advance(500);
    }
    long before = inFlight();
    take(fetch);
    fetch.answer.release();
    assertThat(fixture.timer.waiting()).isZero();
    return inFlight() > before;
  }

  private void take(Fetch fetch) {
    Iterator<FetchSlice> slices = fetch.answer.slices().iterator();
    for (int i = 0; i < partitions; i++) {
      FetchResult result = fetch.result(i);
      assertThat(result.hasError()).isFalse();
      if (result.getSize() > 0) {
        FetchSlice slice = slices.next();
        assertThat(baseOffsets(slice)).isNotEmpty();
        assertThat(slice.baseOffset()).isLessThanOrEqualTo(position[i]);
        position[i] = slice.nextOffset();
      }
      deliverUpTo[i] = Math.max(deliverUpTo[i], result.getDeliverUpTo());
      assertThat(deliverUpTo[i])
          .isLessThanOrEqualTo(position[i])
          .isLessThanOrEqualTo(fixture.get(i).partition.readableEnd());
    }
  }

  /** Hands over all that is allowed. */
  void handOver() {
    long held = 0;
    for (int i = 0; i < partitions; i++) {
      handedOver[i] = Math.max(handedOver[i], deliverUpTo[i]);
      long heldHere = handedOver[i] - processed[i];
      if (cap > 0) {
        assertThat(heldHere).as("cap of a partition").isLessThanOrEqualTo(cap);
      }
      held += heldHere;
    }
    assertThat(held).as("handed over and not processed").isLessThanOrEqualTo(prefetch);
  }

  /** Processes up to so many records of one partition. */
  void process(int partition, long records) {
    int i = partition % partitions;
    processed[i] = Math.min(handedOver[i], processed[i] + records);
  }

  void processAll() {
    System.arraycopy(handedOver, 0, processed, 0, partitions);
  }

  boolean atEnd() {
    boolean all = true;
    for (int i = 0; i < partitions; i++) {
      all &= processed[i] == fixture.get(i).partition.readableEnd();
    }
    return all;
  }

  long recordsLeft() {
    long left = 0;
    for (int i = 0; i < partitions; i++) {
      left += fixture.get(i).partition.readableEnd() - processed[i];
    }
    return left;
  }
}
