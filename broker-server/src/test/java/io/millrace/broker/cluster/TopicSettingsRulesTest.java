package io.millrace.broker.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.broker.cluster.TopicSettingsRules.Refusal;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.message.FsyncPolicy;
import io.millrace.protocol.message.TopicChanges;
import io.millrace.protocol.message.TopicSettings;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class TopicSettingsRulesTest {

  private static TopicSettings.Builder settings() {
    return TopicSettings.newBuilder();
  }

  private static void assertRefused(TopicSettings.Builder settings, String... texts) {
    Optional<Refusal> refusal = TopicSettingsRules.checkSettings(settings.build());
    assertThat(refusal).isPresent();
    assertThat(refusal.get().code()).isEqualTo(ErrorCode.INVALID_SETTING);
    assertThat(refusal.get().text()).contains(texts);
  }

  private static void assertAllowed(TopicSettings.Builder settings) {
    assertThat(TopicSettingsRules.checkSettings(settings.build())).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(strings = {"a", "orders", "Orders-2.eu_west", "_schemas", "0", "a..b", "a.", "_"})
  void allowsNames(String name) {
    assertThat(TopicSettingsRules.checkName(name)).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"", ".", "..", "-a", "a b", "a/b", "a\nb", "ä", "__offsets", "a*", "../x", "a\0"})
  void refusesNames(String name) {
    Optional<Refusal> refusal = TopicSettingsRules.checkName(name);
    assertThat(refusal).isPresent();
    assertThat(refusal.get().code()).isEqualTo(ErrorCode.INVALID_TOPIC_NAME);
    assertThat(refusal.get().text()).doesNotContain("\n").doesNotContain("\0");
  }

  @Test
  void namesHaveALongestLength() {
    assertThat(TopicSettingsRules.checkName("x".repeat(249))).isEmpty();
    assertThat(TopicSettingsRules.checkName("x".repeat(250)).orElseThrow().text())
        .contains("249", "250");
  }

  @Test
  void nothingGivenIsAllowedAndTakesDefaults() {
    assertAllowed(settings());
    TopicSettings three = TopicSettingsRules.withDefaults(settings().build(), 3);
    assertThat(three)
        .isEqualTo(
            settings()
                .setPartitions(1)
                .setReplicas(3)
                .setFsync(FsyncPolicy.FSYNC_ALWAYS)
                .setSegmentBytes(128L << 20)
                .setMaxRecordBytes(1 << 20)
                .build());
    assertThat(TopicSettingsRules.withDefaults(settings().build(), 2).getReplicas()).isEqualTo(1);
    assertThat(TopicSettingsRules.withDefaults(settings().build(), 5).getReplicas()).isEqualTo(3);
    assertThat(TopicSettingsRules.withDefaults(three, 1)).isEqualTo(three);
  }

  @Test
  void theIntervalHasADefaultOnlyWithItsPolicy() {
    TopicSettings given = settings().setFsync(FsyncPolicy.FSYNC_INTERVAL).build();
    assertThat(TopicSettingsRules.withDefaults(given, 3).getFsyncIntervalMillis())
        .isEqualTo(TopicSettingsRules.DEFAULT_FSYNC_INTERVAL_MILLIS);
    assertThat(TopicSettingsRules.withDefaults(settings().build(), 3).getFsyncIntervalMillis())
        .isZero();
  }

  @ParameterizedTest
  @CsvSource({"2,2", "4,3"})
  void evenReplicaCountsAreRefusedWithTheReason(int replicas, int majority) {
    assertRefused(
        settings().setReplicas(replicas),
        "replicas " + replicas,
        "1, 3 or 5",
        "majority of " + replicas + " is " + majority);
  }

  @ParameterizedTest
  @ValueSource(ints = {-1, 6, 7, 100})
  void otherReplicaCountsAreRefused(int replicas) {
    assertRefused(settings().setReplicas(replicas), "replicas " + replicas, "1, 3 or 5");
  }

  @Test
  void boundsAreInclusiveAndNamed() {
    assertAllowed(settings().setPartitions(1000).setReplicas(5));
    assertRefused(settings().setPartitions(1001), "1001", "1 to 1000");
    assertRefused(settings().setPartitions(-1), "-1", "1 to 1000");
    assertAllowed(settings().setSegmentBytes(64 << 10));
    assertAllowed(settings().setSegmentBytes(1 << 30));
    assertRefused(settings().setSegmentBytes((64 << 10) - 1), "65535", "65536 to 1073741824");
    assertRefused(settings().setSegmentBytes((1 << 30) + 1), "1073741825");
    assertRefused(settings().setSegmentBytes(-1), "-1");
    assertAllowed(settings().setMaxRecordBytes(1024));
    assertAllowed(settings().setMaxRecordBytes(16 << 20));
    assertRefused(settings().setMaxRecordBytes(1023), "1023", "1024 to 16777216");
    assertRefused(settings().setMaxRecordBytes((16 << 20) + 1), "16777217");
  }

  @Test
  void theFsyncIntervalBelongsToItsPolicy() {
    TopicSettings.Builder interval = settings().setFsync(FsyncPolicy.FSYNC_INTERVAL);
    assertAllowed(interval.clone().setFsyncIntervalMillis(1));
    assertAllowed(interval.clone().setFsyncIntervalMillis(60_000));
    assertRefused(interval.clone().setFsyncIntervalMillis(60_001), "60001", "1 to 60000 ms");
    assertRefused(interval.clone().setFsyncIntervalMillis(-5), "-5");
    assertRefused(
        settings().setFsync(FsyncPolicy.FSYNC_ALWAYS).setFsyncIntervalMillis(100),
        "100 ms",
        "fsync=interval");
    assertRefused(settings().setFsyncIntervalMillis(100), "fsync=interval");
    assertRefused(settings().setFsyncValue(17), "17", "always, interval or os");
  }

  @Test
  void limitsOfAgeAndSizeHaveBounds() {
    assertAllowed(settings().setRetentionMillis(1000).setRetentionBytes(1 << 20));
    assertRefused(settings().setRetentionMillis(999), "retention time 999 ms", "1000 to");
    assertRefused(settings().setRetentionMillis(-1), "-1");
    assertRefused(settings().setRetentionBytes((1 << 20) - 1), "1048575", "1048576 to");
    assertRefused(settings().setSegmentMillis(999), "segment time 999 ms");
    assertAllowed(settings().setRetentionBytes(1 << 20).setSegmentBytes(1 << 20));
    assertRefused(
        settings().setRetentionBytes(1 << 20).setSegmentBytes((1 << 20) + 1),
        "segment bytes 1048577",
        "at most retention bytes 1048576");
  }

  @Test
  void segmentsFollowTheLimitsUnlessTheyAreGiven() {
    TopicSettings capped =
        TopicSettingsRules.withDefaults(settings().setRetentionBytes(500 << 20).build(), 3);
    assertThat(capped.getSegmentBytes()).isEqualTo(25 << 20);
    assertThat(capped.getSegmentMillis()).isZero();
    assertThat(
            TopicSettingsRules.withDefaults(settings().setRetentionBytes(1L << 40).build(), 3)
                .getSegmentBytes())
        .isEqualTo(128 << 20);
    assertThat(
            TopicSettingsRules.withDefaults(settings().setRetentionBytes(1 << 20).build(), 3)
                .getSegmentBytes())
        .isEqualTo(64 << 10);

    assertThat(segmentMillisFor(10_000)).isEqualTo(1000);
    assertThat(segmentMillisFor(2_000)).isEqualTo(1000);
    assertThat(segmentMillisFor(3_600_000)).isEqualTo(360_000);
    assertThat(segmentMillisFor(30L * 86_400_000)).isEqualTo(86_400_000);
    TopicSettings given =
        settings()
            .setRetentionMillis(10_000)
            .setSegmentMillis(5000)
            .setRetentionBytes(500 << 20)
            .setSegmentBytes(1 << 20)
            .build();
    TopicSettings complete = TopicSettingsRules.withDefaults(given, 3);
    assertThat(complete.getSegmentMillis()).isEqualTo(5000);
    assertThat(complete.getSegmentBytes()).isEqualTo(1 << 20);
  }

  private static long segmentMillisFor(long retentionMillis) {
    return TopicSettingsRules.withDefaults(
            settings().setRetentionMillis(retentionMillis).build(), 3)
        .getSegmentMillis();
  }

  private static TopicSettings alter(TopicSettings now, TopicChanges.Builder changes) {
    TopicChanges complete = TopicSettingsRules.completeChanges(now, changes.build());
    assertThat(TopicSettingsRules.checkChanges(now, complete)).isEmpty();
    return TopicSettingsRules.changed(now, complete);
  }

  @Test
  void aNewLimitMakesSegmentsSmallerAndNothingMakesThemLarger() {
    TopicSettings plain = TopicSettingsRules.withDefaults(settings().build(), 3);
    TopicSettings capped = alter(plain, TopicChanges.newBuilder().setRetentionBytes(500 << 20));
    assertThat(capped)
        .isEqualTo(
            plain.toBuilder().setRetentionBytes(500 << 20).setSegmentBytes(25 << 20).build());
    TopicSettings free = alter(capped, TopicChanges.newBuilder().setRetentionBytes(0));
    assertThat(free.getRetentionBytes()).isZero();
    assertThat(free.getSegmentBytes()).isEqualTo(25 << 20);

    TopicSettings aged = alter(plain, TopicChanges.newBuilder().setRetentionMillis(100_000));
    assertThat(aged.getSegmentMillis()).isEqualTo(10_000);
    assertThat(
            alter(aged, TopicChanges.newBuilder().setRetentionMillis(900_000)).getSegmentMillis())
        .isEqualTo(10_000);
    assertThat(alter(aged, TopicChanges.newBuilder().setRetentionMillis(20_000)).getSegmentMillis())
        .isEqualTo(2000);
    assertThat(
            TopicSettingsRules.checkChanges(
                    plain, TopicChanges.newBuilder().setSegmentBytes(0).build())
                .orElseThrow()
                .text())
        .contains("segment bytes 0");
  }

  @Test
  void eachReplicaNeedsAReachableBroker() {
    assertThat(TopicSettingsRules.checkBrokers(3, 3, 3)).isEmpty();
    Refusal refusal = TopicSettingsRules.checkBrokers(3, 3, 2).orElseThrow();
    assertThat(refusal.code()).isEqualTo(ErrorCode.NOT_ENOUGH_BROKERS);
    assertThat(refusal.text()).contains("replicas 3", "3 are registered", "2 of them reachable");
  }

  @Test
  void durabilityIsSaidInWords() {
    TopicSettings always = TopicSettingsRules.withDefaults(settings().build(), 3);
    assertThat(Durability.describe(always))
        .contains("fsync=always", "2 of 3 replicas", "synced", "no power cut", "1 lost disk loses");
    assertThat(
            Durability.describe(
                always.toBuilder()
                    .setFsync(FsyncPolicy.FSYNC_INTERVAL)
                    .setFsyncIntervalMillis(200)
                    .setReplicas(5)
                    .build()))
        .contains("fsync=interval", "3 of 5", "200 ms", "one replica loses power", "2 lost disks");
    assertThat(
            Durability.describe(
                always.toBuilder().setFsync(FsyncPolicy.FSYNC_OS).setReplicas(1).build()))
        .contains("fsync=os", "the only replica", "lost when the broker loses power", "lost disk");
  }
}
