package io.millrace.broker.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.broker.cluster.TopicSettingsRules.Refusal;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.message.FsyncPolicy;
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
