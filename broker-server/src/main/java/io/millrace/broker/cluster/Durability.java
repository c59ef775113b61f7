package io.millrace.broker.cluster;

import io.millrace.protocol.message.TopicSettings;

/** What a receipt of a topic promises and what can be lost, in plain words. */
public final class Durability {

  private Durability() {}

  public static String describe(TopicSettings settings) {
    int replicas = settings.getReplicas();
    int majority = replicas / 2 + 1;
    String who = replicas == 1 ? "the only replica" : majority + " of " + replicas + " replicas";
    return switch (settings.getFsync()) {
      case FSYNC_ALWAYS ->
          "fsync=always: a receipt means that "
              + who
              + " synced the record to disk; no power cut loses it, not even of all brokers at"
              + " once."
              + diskText(replicas);
      case FSYNC_INTERVAL ->
          "fsync=interval: a receipt means that "
              + who
              + " wrote the record; disks are synced every "
              + settings.getFsyncIntervalMillis()
              + " ms. "
              + windowText(replicas, "the last " + settings.getFsyncIntervalMillis() + " ms");
      case FSYNC_OS ->
          "fsync=os: a receipt means that "
              + who
              + " wrote the record; the operating system syncs it later, usually within 30 s. "
              + windowText(replicas, "that time");
      case FSYNC_UNSPECIFIED, UNRECOGNIZED ->
          "fsync policy number " + settings.getFsyncValue() + " is not known to this broker.";
    };
  }

  private static String windowText(int replicas, String window) {
    String power =
        replicas == 1
            ? "A record acknowledged within " + window + " is lost when the broker loses power."
            : "A record acknowledged within "
                + window
                + " can be lost when one replica loses power and the rest of its quorum is"
                + " unreachable before that replica has caught up again.";
    return power + " A killed process alone loses nothing." + diskText(replicas);
  }

  private static String diskText(int replicas) {
    return replicas == 1
        ? " With one replica a lost disk loses the topic."
        : " Up to "
            + (replicas - 1) / 2
            + (replicas == 3 ? " lost disk loses" : " lost disks lose")
            + " nothing.";
  }
}
