package io.millrace.broker.cluster;

import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.message.FsyncPolicy;
import io.millrace.protocol.message.TopicChanges;
import io.millrace.protocol.message.TopicSettings;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;

/**
 * Every rule about names and settings of topics: bounds, defaults, and what the cluster must have.
 * They bind proposals, never what is in the log already, so a later version may change them.
 */
public final class TopicSettingsRules {

  public static final int MAX_NAME_LENGTH = 249;

  /** A partition is a Raft group on each of its brokers; see the limits in docs/guarantees.md. */
  public static final int MAX_PARTITIONS = 1000;

  public static final int DEFAULT_PARTITIONS = 1;

  public static final int DEFAULT_REPLICAS = 3;

  private static final Set<Integer> REPLICAS = Set.of(1, 3, 5);

  public static final int MIN_FSYNC_INTERVAL_MILLIS = 1;
  public static final int MAX_FSYNC_INTERVAL_MILLIS = 60_000;
  public static final int DEFAULT_FSYNC_INTERVAL_MILLIS = 1000;

  /** Smaller segments cost a file and a roll for every few batches. */
  public static final long MIN_SEGMENT_BYTES = 64 * 1024;

  /** Positions inside a segment are 32-bit numbers in its index. */
  public static final long MAX_SEGMENT_BYTES = 1024L * 1024 * 1024;

  public static final long DEFAULT_SEGMENT_BYTES = 128L * 1024 * 1024;

  /** Log time is exact to a second. */
  public static final long MIN_RETENTION_MILLIS = 1000;

  public static final long MAX_RETENTION_MILLIS = TimeUnit.DAYS.toMillis(36_525);

  /** Some segments of the least size. */
  public static final long MIN_RETENTION_BYTES = 1024 * 1024;

  public static final long MAX_RETENTION_BYTES = 1L << 50;
  public static final long MIN_SEGMENT_MILLIS = 1000;

  /** With a limit of age: its tenth, so that no record stays much longer; at most a day. */
  private static final int SEGMENTS_PER_RETENTION_TIME = 10;

  private static final long MAX_DEFAULT_SEGMENT_MILLIS = TimeUnit.DAYS.toMillis(1);

  /** With a limit in bytes: a twentieth, so that the limit is kept to a twentieth. */
  private static final int SEGMENTS_PER_RETENTION_BYTES = 20;

  public static final int MIN_MAX_RECORD_BYTES = 1024;
  public static final int MAX_MAX_RECORD_BYTES = 16 * 1024 * 1024;
  public static final int DEFAULT_MAX_RECORD_BYTES = 1024 * 1024;

  private static final Pattern NAME = Pattern.compile("[a-zA-Z0-9_][a-zA-Z0-9._-]*");

  /** Names for topics that brokers make for themselves. */
  private static final String RESERVED_PREFIX = "__";

  private TopicSettingsRules() {}

  /** A broken rule, with the value, the limit and what to do. */
  public record Refusal(ErrorCode code, String text) {}

  public static Optional<Refusal> checkName(String name) {
    if (name.isEmpty() || name.length() > MAX_NAME_LENGTH) {
      return refuseName(
          "a topic name has 1 to " + MAX_NAME_LENGTH + " characters, this one " + name.length());
    }
    if (!NAME.matcher(name).matches()) {
      return refuseName(
          "topic name '"
              + printable(name)
              + "' may only use letters a-z A-Z, digits, '.', '_' and '-', and begins with a"
              + " letter, a digit or '_'");
    }
    if (name.startsWith(RESERVED_PREFIX)) {
      return refuseName(
          "topic name '" + name + "' begins with '__', which is reserved for the broker's own");
    }
    return Optional.empty();
  }

  private static String printable(String name) {
    StringBuilder text = new StringBuilder(name.length());
    name.codePoints()
        .forEach(
            c -> {
              if (c >= ' ' && c < 0x7f) {
                text.appendCodePoint(c);
              } else {
                text.append(String.format("\\u%04x", c));
              }
            });
    return text.toString();
  }

  /** Checks what was given; a field that is 0 was not and takes its default. */
  public static Optional<Refusal> checkSettings(TopicSettings settings) {
    if (settings.getPartitions() < 0 || settings.getPartitions() > MAX_PARTITIONS) {
      return refuse("partitions", settings.getPartitions(), 1, MAX_PARTITIONS, "");
    }
    int replicas = settings.getReplicas();
    if (replicas != 0 && !REPLICAS.contains(replicas)) {
      return refuseSetting(replicasText(replicas));
    }
    return switch (settings.getFsync()) {
      case FSYNC_UNSPECIFIED, FSYNC_ALWAYS, FSYNC_OS ->
          settings.getFsyncIntervalMillis() == 0
              ? checkSizes(settings)
              : refuseSetting(
                  "fsync interval "
                      + settings.getFsyncIntervalMillis()
                      + " ms is only used with fsync=interval: leave it out, or set the policy");
      case FSYNC_INTERVAL -> {
        int interval = settings.getFsyncIntervalMillis();
        yield interval == 0
                || (interval >= MIN_FSYNC_INTERVAL_MILLIS && interval <= MAX_FSYNC_INTERVAL_MILLIS)
            ? checkSizes(settings)
            : refuse(
                "fsync interval",
                interval,
                MIN_FSYNC_INTERVAL_MILLIS,
                MAX_FSYNC_INTERVAL_MILLIS,
                " ms");
      }
      case UNRECOGNIZED ->
          refuseSetting(
              "fsync policy number "
                  + settings.getFsyncValue()
                  + " is not known: use always, interval or os");
    };
  }

  private static Optional<Refusal> checkSizes(TopicSettings settings) {
    long segment = settings.getSegmentBytes();
    if (segment != 0 && (segment < MIN_SEGMENT_BYTES || segment > MAX_SEGMENT_BYTES)) {
      return refuse("segment bytes", segment, MIN_SEGMENT_BYTES, MAX_SEGMENT_BYTES, "");
    }
    Optional<Refusal> retention = checkRetention(settings);
    if (retention.isPresent()) {
      return retention;
    }
    int record = settings.getMaxRecordBytes();
    if (record != 0 && (record < MIN_MAX_RECORD_BYTES || record > MAX_MAX_RECORD_BYTES)) {
      return refuse("max record bytes", record, MIN_MAX_RECORD_BYTES, MAX_MAX_RECORD_BYTES, "");
    }
    return Optional.empty();
  }

  private static Optional<Refusal> checkRetention(TopicSettings settings) {
    long millis = settings.getRetentionMillis();
    if (millis != 0 && (millis < MIN_RETENTION_MILLIS || millis > MAX_RETENTION_MILLIS)) {
      return refuse("retention time", millis, MIN_RETENTION_MILLIS, MAX_RETENTION_MILLIS, " ms");
    }
    long segmentMillis = settings.getSegmentMillis();
    if (segmentMillis != 0
        && (segmentMillis < MIN_SEGMENT_MILLIS || segmentMillis > MAX_RETENTION_MILLIS)) {
      return refuse("segment time", segmentMillis, MIN_SEGMENT_MILLIS, MAX_RETENTION_MILLIS, " ms");
    }
    long bytes = settings.getRetentionBytes();
    if (bytes != 0 && (bytes < MIN_RETENTION_BYTES || bytes > MAX_RETENTION_BYTES)) {
      return refuse("retention bytes", bytes, MIN_RETENTION_BYTES, MAX_RETENTION_BYTES, "");
    }
    return bytes != 0 && settings.getSegmentBytes() > bytes
        ? refuseSetting(
            "segment bytes "
                + settings.getSegmentBytes()
                + " must be at most retention bytes "
                + bytes
                + ", because only whole segments go; leave it out for a twentieth")
        : Optional.empty();
  }

  private static String replicasText(int replicas) {
    String why =
        replicas == 2 || replicas == 4
            ? ": a majority of "
                + replicas
                + " is "
                + (replicas / 2 + 1)
                + ", so it survives no more failures than "
                + (replicas - 1)
                + " and stops in more of them"
            : "";
    return "replicas " + replicas + " must be 1, 3 or 5" + why;
  }

  /** The settings with every default filled in. */
  public static TopicSettings withDefaults(TopicSettings given, int registeredBrokers) {
    TopicSettings.Builder settings = given.toBuilder();
    if (given.getPartitions() == 0) {
      settings.setPartitions(DEFAULT_PARTITIONS);
    }
    if (given.getReplicas() == 0) {
      settings.setReplicas(registeredBrokers >= DEFAULT_REPLICAS ? DEFAULT_REPLICAS : 1);
    }
    if (given.getFsync() == FsyncPolicy.FSYNC_UNSPECIFIED) {
      settings.setFsync(FsyncPolicy.FSYNC_ALWAYS);
    }
    if (given.getFsync() == FsyncPolicy.FSYNC_INTERVAL && given.getFsyncIntervalMillis() == 0) {
      settings.setFsyncIntervalMillis(DEFAULT_FSYNC_INTERVAL_MILLIS);
    }
    if (given.getSegmentBytes() == 0) {
      settings.setSegmentBytes(defaultSegmentBytes(given.getRetentionBytes()));
    }
    if (given.getSegmentMillis() == 0 && given.getRetentionMillis() > 0) {
      settings.setSegmentMillis(defaultSegmentMillis(given.getRetentionMillis()));
    }
    if (given.getMaxRecordBytes() == 0) {
      settings.setMaxRecordBytes(DEFAULT_MAX_RECORD_BYTES);
    }
    return settings.build();
  }

  /**
   * The changes with what follows from them: a new limit makes segments smaller where it needs
   * that, and nothing makes them larger that was not asked for.
   */
  static TopicChanges completeChanges(TopicSettings now, TopicChanges changes) {
    TopicChanges.Builder complete = changes.toBuilder();
    long bytes = changes.getRetentionBytes();
    if (bytes > 0 && !changes.hasSegmentBytes()) {
      complete.setSegmentBytes(Math.min(now.getSegmentBytes(), defaultSegmentBytes(bytes)));
    }
    long millis = changes.getRetentionMillis();
    if (millis > 0 && !changes.hasSegmentMillis()) {
      long needed = defaultSegmentMillis(millis);
      long present = now.getSegmentMillis();
      complete.setSegmentMillis(present == 0 ? needed : Math.min(present, needed));
    }
    return complete.build();
  }

  /**
   * Checks settings that were changed; 0 means no default here, where the setting needs a value.
   */
  static Optional<Refusal> checkChanges(TopicSettings now, TopicChanges changes) {
    return changes.hasSegmentBytes() && changes.getSegmentBytes() == 0
        ? refuse("segment bytes", 0, MIN_SEGMENT_BYTES, MAX_SEGMENT_BYTES, "")
        : checkSettings(changed(now, changes));
  }

  static TopicSettings changed(TopicSettings settings, TopicChanges changes) {
    TopicSettings.Builder changed = settings.toBuilder();
    if (changes.hasRetentionMillis()) {
      changed.setRetentionMillis(changes.getRetentionMillis());
    }
    if (changes.hasRetentionBytes()) {
      changed.setRetentionBytes(changes.getRetentionBytes());
    }
    if (changes.hasSegmentBytes()) {
      changed.setSegmentBytes(changes.getSegmentBytes());
    }
    if (changes.hasSegmentMillis()) {
      changed.setSegmentMillis(changes.getSegmentMillis());
    }
    return changed.build();
  }

  private static long defaultSegmentMillis(long retentionMillis) {
    long tenth = retentionMillis / SEGMENTS_PER_RETENTION_TIME;
    return Math.max(MIN_SEGMENT_MILLIS, Math.min(tenth, MAX_DEFAULT_SEGMENT_MILLIS));
  }

  private static long defaultSegmentBytes(long retentionBytes) {
    return retentionBytes == 0
        ? DEFAULT_SEGMENT_BYTES
        : Math.max(
            MIN_SEGMENT_BYTES,
            Math.min(retentionBytes / SEGMENTS_PER_RETENTION_BYTES, DEFAULT_SEGMENT_BYTES));
  }

  /** Whether each replica can go to a broker of its own that is up now. */
  public static Optional<Refusal> checkBrokers(
      int replicas, int registeredBrokers, int reachableBrokers) {
    if (replicas <= reachableBrokers) {
      return Optional.empty();
    }
    return Optional.of(
        new Refusal(
            ErrorCode.NOT_ENOUGH_BROKERS,
            "replicas "
                + replicas
                + " need as many brokers: "
                + registeredBrokers
                + " are registered and "
                + reachableBrokers
                + " of them reachable; start more, or ask for fewer replicas"));
  }

  private static Optional<Refusal> refuse(
      String name, long value, long min, long max, String unit) {
    return refuseSetting(name + " " + value + unit + " must be " + min + " to " + max + unit);
  }

  private static Optional<Refusal> refuseSetting(String text) {
    return Optional.of(new Refusal(ErrorCode.INVALID_SETTING, text));
  }

  private static Optional<Refusal> refuseName(String text) {
    return Optional.of(new Refusal(ErrorCode.INVALID_TOPIC_NAME, text));
  }
}
