package io.millrace.tools.topic;

import io.millrace.client.TopicDescription;
import io.millrace.tools.Words;

/** How long a topic keeps its records, in words. */
final class Lifetime {

  /** Exactness of log time, the look for what may go, and a majority's answer; see the docs. */
  private static final long SLACK_MILLIS = 3000;

  private Lifetime() {}

  static String of(TopicDescription topic) {
    String age =
        topic.retentionMillis() == 0
            ? ""
            : "go when they are older than "
                + Words.millis(topic.retentionMillis())
                + ", at most "
                + Words.millis(topic.segmentMillis() + SLACK_MILLIS)
                + " later";
    String size =
        topic.retentionBytes() == 0
            ? ""
            : "go, the oldest first, when a partition holds more than "
                + Words.bytes(topic.retentionBytes())
                + "; at least four fifths of that stay";
    if (age.isEmpty() && size.isEmpty()) {
      return "stay until they are deleted with `topic delete-records`, or with the topic";
    }
    return age.isEmpty() || size.isEmpty() ? age + size : age + "; " + size;
  }
}
