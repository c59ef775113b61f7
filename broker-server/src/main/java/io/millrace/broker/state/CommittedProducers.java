package io.millrace.broker.state;

import io.millrace.broker.state.message.ProducerImage;
import io.millrace.broker.state.message.StoredBatchImage;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The replicated part of the producer table: equal on all replicas at equal log indexes, because it
 * changes only by what entries carry.
 *
 * <p>Owns: per producer its epoch, its last five batches and the log time of the newest.
 */
final class CommittedProducers {

  static final class Producer {
    private final short epoch;
    private final BatchWindow window = new BatchWindow();
    private long lastLogTime;

    private Producer(short epoch) {
      this.epoch = epoch;
    }

    short epoch() {
      return epoch;
    }

    BatchWindow window() {
      return window;
    }
  }

  /** In the order of the last batch, which is the order of log time since that never decreases. */
  private final Map<Long, Producer> byLastBatch = new LinkedHashMap<>();

  Producer get(long producerId) {
    return byLastBatch.get(producerId);
  }

  int size() {
    return byLastBatch.size();
  }

  /** Takes what the log says; whether it should be in the log was decided by the leader. */
  void applied(BatchId id, long baseOffset, long term, long logTime) {
    Producer producer = byLastBatch.remove(id.producerId());
    if (producer == null || producer.epoch != id.epoch()) {
      producer = new Producer(id.epoch());
    }
    producer.window.add(id.firstSequence(), id.lastSequence(), baseOffset, term);
    producer.lastLogTime = logTime;
    byLastBatch.put(id.producerId(), producer);
  }

  /** Log time of the producer that has been idle longest; Long.MAX_VALUE when there is none. */
  long oldestLogTime() {
    return byLastBatch.isEmpty()
        ? Long.MAX_VALUE
        : byLastBatch.values().iterator().next().lastLogTime;
  }

  /** Forgets producers whose last batch is older; returns how many. */
  int expire(long idleSinceBefore) {
    int expired = 0;
    Iterator<Producer> oldestFirst = byLastBatch.values().iterator();
    while (oldestFirst.hasNext() && oldestFirst.next().lastLogTime < idleSinceBefore) {
      oldestFirst.remove();
      expired++;
    }
    return expired;
  }

  /** Sorted by producer id, so that equal states have equal bytes. */
  List<ProducerImage> toImage() {
    List<ProducerImage> images = new ArrayList<>(byLastBatch.size());
    byLastBatch.forEach((id, producer) -> images.add(toImage(id, producer)));
    images.sort(Comparator.comparingLong(ProducerImage::getProducerId));
    return images;
  }

  private static ProducerImage toImage(long producerId, Producer producer) {
    ProducerImage.Builder image =
        ProducerImage.newBuilder()
            .setProducerId(producerId)
            .setEpoch(producer.epoch)
            .setLastLogTimeMillis(producer.lastLogTime);
    BatchWindow window = producer.window;
    for (int age = 0; age < window.size(); age++) {
      image.addBatches(
          StoredBatchImage.newBuilder()
              .setFirstSequence(window.firstSequence(age))
              .setLastSequence(window.lastSequence(age))
              .setBaseOffset(window.baseOffset(age))
              .setTerm(window.term(age)));
    }
    return image.build();
  }

  void restore(List<ProducerImage> images) {
    byLastBatch.clear();
    List<ProducerImage> oldestFirst = new ArrayList<>(images);
    oldestFirst.sort(Comparator.comparingLong(ProducerImage::getLastLogTimeMillis));
    for (ProducerImage image : oldestFirst) {
      Producer producer = new Producer((short) image.getEpoch());
      producer.lastLogTime = image.getLastLogTimeMillis();
      for (StoredBatchImage batch : image.getBatchesList()) {
        producer.window.add(
            batch.getFirstSequence(),
            batch.getLastSequence(),
            batch.getBaseOffset(),
            batch.getTerm());
      }
      byLastBatch.put(image.getProducerId(), producer);
    }
  }
}
