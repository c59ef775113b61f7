package io.millrace.tools.load;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.stream.Collectors;
import net.jqwik.api.Assume;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;

/**
 * A verifier that can not fail is worthless: here a model of a topic is right, and then wrong in
 * one planted way, and the verifier must say exactly that.
 */
class LoadVerifierProperties {
  private static final int TRIES = 300;
  private static final int MOST_KEYS = 6;
  private static final int MOST_RECORDS = 60;
  private static final int PARTITIONS = 3;
  private static final long START = 100;

  private enum Fate {
    ACKED,
    REFUSED,
    UNKNOWN_STORED,
    UNKNOWN_ABSENT
  }

  private record Sent(int key, long number, Fate fate) {
    int partition() {
      return key % PARTITIONS;
    }

    boolean isStored() {
      return fate == Fate.ACKED || fate == Fate.UNKNOWN_STORED;
    }
  }

  private record Receipt(int partition, long offset) {}

  /** A topic as it should be: what was sent, what each partition holds, and the receipts. */
  private static final class Model {
    final int keys;
    final List<Sent> sent = new ArrayList<>();
    final Map<Integer, List<Sent>> logs = new HashMap<>();
    final Map<Sent, Receipt> receipts = new HashMap<>();
    final List<Integer> rereadPartitions = new ArrayList<>();

    Model(Random random, int keys, int records) {
      this.keys = keys;
      for (int partition = 0; partition < PARTITIONS; partition++) {
        logs.put(partition, new ArrayList<>());
      }
      long[] next = new long[keys];
      for (int i = 0; i < records; i++) {
        int key = random.nextInt(keys);
        // Most are acknowledged, as in life.
        Fate fate = random.nextInt(3) > 0 ? Fate.ACKED : Fate.values()[random.nextInt(4)];
        Sent record = new Sent(key, next[key]++, fate);
        sent.add(record);
        List<Sent> log = logs.get(record.partition());
        if (fate == Fate.ACKED) {
          receipts.put(record, new Receipt(record.partition(), START + log.size()));
        }
        if (record.isStored()) {
          log.add(record);
        }
      }
    }

    List<Sent> ackedRecords() {
      return sent.stream().filter(receipts::containsKey).toList();
    }

    long count(Fate fate) {
      return sent.stream().filter(record -> record.fate() == fate).count();
    }

    /** Answers and reads in any order, only that a record is sent before either. */
    LoadVerifier.Counts verify(Random random) {
      var verifier = new LoadVerifier(keys);
      for (int partition = 0; partition < PARTITIONS; partition++) {
        verifier.startsAt(partition, START);
      }
      for (Sent record : sent) {
        assertThat(verifier.send(record.key())).isEqualTo(record.number());
      }
      List<Runnable> answers = new ArrayList<>();
      for (Sent record : sent) {
        answers.add(() -> answer(verifier, record));
      }
      Collections.shuffle(answers, random);
      List<List<Runnable>> lanes = new ArrayList<>(List.of(answers));
      logs.forEach((partition, log) -> lanes.add(reads(verifier, partition, log)));
      while (lanes.stream().anyMatch(lane -> !lane.isEmpty())) {
        List<Runnable> lane = lanes.get(random.nextInt(lanes.size()));
        if (!lane.isEmpty()) {
          lane.remove(0).run();
        }
      }
      logs.keySet().forEach(verifier::readToEnd);
      LoadVerifier.Counts counts = verifier.counts();
      assertThat(verifier.examples().isEmpty()).isEqualTo(counts.allViolations() == 0);
      return counts;
    }

    private void answer(LoadVerifier verifier, Sent record) {
      Receipt receipt = receipts.get(record);
      switch (record.fate()) {
        case ACKED ->
            verifier.acked(record.key(), record.number(), receipt.partition(), receipt.offset());
        case REFUSED -> verifier.refused(record.key(), record.number());
        default -> verifier.unknown(record.key(), record.number());
      }
    }

    /** A null entry is an offset that is not there. */
    private List<Runnable> reads(LoadVerifier verifier, int partition, List<Sent> log) {
      List<Runnable> reads = new ArrayList<>();
      for (int i = 0; i < log.size(); i++) {
        Sent record = log.get(i);
        long offset = START + i;
        if (record == null) {
          continue;
        }
        Runnable read =
            record.key() < 0
                ? () -> verifier.passed(partition, offset)
                : () -> verifier.seen(record.key(), record.number(), partition, offset);
        reads.add(read);
        if (rereadPartitions.contains(partition)) {
          reads.add(read);
        }
      }
      return reads;
    }
  }

  private static Set<Violation> kinds(LoadVerifier.Counts counts) {
    return counts.violations().entrySet().stream()
        .filter(entry -> entry.getValue() > 0)
        .map(Map.Entry::getKey)
        .collect(Collectors.toSet());
  }

  @Property(tries = TRIES)
  void nothingIsFoundWhereNothingIsWrong(
      @ForAll Random random,
      @ForAll @IntRange(min = 1, max = MOST_KEYS) int keys,
      @ForAll @IntRange(min = 0, max = MOST_RECORDS) int records) {
    var model = new Model(random, keys, records);

    LoadVerifier.Counts counts = model.verify(random);

    assertThat(kinds(counts)).isEmpty();
    assertThat(counts.sent()).isEqualTo(records);
    assertThat(counts.acked()).isEqualTo(model.count(Fate.ACKED));
    assertThat(counts.refused()).isEqualTo(model.count(Fate.REFUSED));
    assertThat(counts.unknownAppeared()).isEqualTo(model.count(Fate.UNKNOWN_STORED));
    assertThat(counts.unknownAbsent()).isEqualTo(model.count(Fate.UNKNOWN_ABSENT));
    assertThat(counts.undecided()).isZero();
    assertThat(counts.unread()).isZero();
    assertThat(counts.provesEverything()).isEqualTo(counts.acked() > 0);
  }

  @Property(tries = TRIES)
  void findsARecordThatLeftAHole(@ForAll Random random) {
    var model = someModel(random);
    Sent lost = pick(random, model.ackedRecords());
    List<Sent> log = model.logs.get(lost.partition());
    log.set(log.indexOf(lost), null);

    LoadVerifier.Counts counts = model.verify(random);

    // The last offset of a log leaves no hole behind it.
    assertThat(counts.violations(Violation.LOST)).isEqualTo(1);
    assertThat(counts.provesEverything()).isFalse();
  }

  @Property(tries = TRIES)
  void findsARecordWhosePlaceAnotherTook(@ForAll Random random) {
    var model = someModel(random);
    Sent lost = pick(random, model.ackedRecords());
    List<Sent> log = model.logs.get(lost.partition());
    log.set(log.indexOf(lost), new Sent(-1, 0, Fate.ACKED));

    LoadVerifier.Counts counts = model.verify(random);

    assertThat(kinds(counts)).containsExactly(Violation.LOST);
    assertThat(counts.violations(Violation.LOST)).isEqualTo(1);
  }

  @Property(tries = TRIES)
  void findsALostTail(@ForAll Random random, @ForAll @IntRange(min = 1, max = 5) int cut) {
    var model = someModel(random);
    Sent last = pick(random, model.ackedRecords());
    List<Sent> log = model.logs.get(last.partition());
    List<Sent> tail = log.subList(Math.max(0, log.size() - cut), log.size());
    long ackedInTail = tail.stream().filter(record -> record.fate() == Fate.ACKED).count();
    Assume.that(ackedInTail > 0);
    tail.clear();

    LoadVerifier.Counts counts = model.verify(random);

    assertThat(kinds(counts)).containsExactly(Violation.LOST);
    assertThat(counts.violations(Violation.LOST)).isEqualTo(ackedInTail);
  }

  @Property(tries = TRIES)
  void findsADoubledRecord(@ForAll Random random) {
    var model = someModel(random);
    Sent doubled = pick(random, model.sent.stream().filter(Sent::isStored).toList());
    model.logs.get(doubled.partition()).add(doubled);

    LoadVerifier.Counts counts = model.verify(random);

    assertThat(kinds(counts)).containsExactly(Violation.DOUBLED);
    assertThat(counts.violations(Violation.DOUBLED)).isEqualTo(1);
  }

  @Property(tries = TRIES)
  void findsTwoRecordsOfAKeyInTheWrongOrder(@ForAll Random random) {
    var model = someModel(random);
    Sent first = pick(random, model.ackedRecords());
    List<Sent> log = model.logs.get(first.partition());
    int at = log.indexOf(first);
    List<Sent> later =
        log.subList(at + 1, log.size()).stream()
            .filter(record -> record.key() == first.key() && record.fate() == Fate.ACKED)
            .toList();
    Assume.that(!later.isEmpty());
    Sent second = later.get(0);
    Collections.swap(log, at, log.indexOf(second));
    // The receipts agree with the places: order alone is wrong.
    Receipt receipt = model.receipts.get(first);
    model.receipts.put(first, model.receipts.get(second));
    model.receipts.put(second, receipt);

    LoadVerifier.Counts counts = model.verify(random);

    assertThat(kinds(counts)).containsExactly(Violation.REORDERED);
  }

  @Property(tries = TRIES)
  void findsAReceiptThatNamesAnotherPlace(@ForAll Random random) {
    var model = someModel(random);
    Sent record = pick(random, model.ackedRecords());
    Receipt right = model.receipts.get(record);
    model.receipts.put(record, new Receipt(right.partition(), right.offset() + 1));

    LoadVerifier.Counts counts = model.verify(random);

    assertThat(kinds(counts)).containsExactly(Violation.MISPLACED);
  }

  @Property(tries = TRIES)
  void findsARefusedRecordThatIsThere(@ForAll Random random) {
    var model = someModel(random);
    List<Sent> refused =
        model.sent.stream().filter(record -> record.fate() == Fate.REFUSED).toList();
    Assume.that(!refused.isEmpty());
    Sent record = pick(random, refused);
    model.logs.get(record.partition()).add(record);

    LoadVerifier.Counts counts = model.verify(random);

    // Read before its refusal came, it is out of order as well.
    assertThat(kinds(counts))
        .contains(Violation.RESURRECTED)
        .isSubsetOf(Violation.RESURRECTED, Violation.REORDERED);
  }

  @Property(tries = TRIES)
  void findsAnOffsetThatIsHandedOutTwice(@ForAll Random random) {
    var model = someModel(random);
    Sent any = pick(random, model.ackedRecords());
    model.rereadPartitions.add(any.partition());

    LoadVerifier.Counts counts = model.verify(random);

    assertThat(kinds(counts)).containsExactly(Violation.REREAD);
    assertThat(counts.violations(Violation.REREAD))
        .isEqualTo(model.logs.get(any.partition()).size());
  }

  @Property(tries = TRIES)
  void findsARecordNobodySent(@ForAll Random random) {
    var model = someModel(random);
    int key = random.nextInt(model.keys);
    model.logs.get(key % PARTITIONS).add(new Sent(key, 1_000_000, Fate.ACKED));

    LoadVerifier.Counts counts = model.verify(random);

    assertThat(kinds(counts)).containsExactly(Violation.FOREIGN);
  }

  private static Model someModel(Random random) {
    var model =
        new Model(
            random, 1 + random.nextInt(MOST_KEYS), MOST_RECORDS / 2 + random.nextInt(MOST_RECORDS));
    Assume.that(!model.ackedRecords().isEmpty());
    return model;
  }

  private static Sent pick(Random random, List<Sent> records) {
    return records.get(random.nextInt(records.size()));
  }
}
