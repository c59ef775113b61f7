package io.millrace.tools.log;

import io.millrace.broker.raft.message.GroupRecord;
import io.millrace.broker.raft.storage.StoredVotes;
import io.millrace.tools.Output.Rows;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** A votes file for people and scripts: the newest record of each group. */
final class VotesText {
  private VotesText() {}

  static Map<String, Object> fields(StoredVotes.Copy copy) {
    var fields = new LinkedHashMap<String, Object>();
    fields.put("file", copy.file().toString());
    fields.put("records", copy.records().size());
    fields.put("end", copy.end());
    fields.put("behindIt", copy.clean() ? "zeros, as it should be" : "bytes that are no record");
    var rows =
        new Rows(
            List.of(
                "group",
                "term",
                "votedFor",
                "health",
                "reason",
                "markIndex",
                "markSegment",
                "markPosition",
                "number"));
    for (GroupRecord group : copy.latest().values()) {
      boolean marked = group.getMarkIndex() != 0;
      rows.add(
          group.getGroup(),
          group.getTerm(),
          group.getVotedFor().isEmpty() ? null : group.getVotedFor(),
          group.getHealth().name().replace("STORED_", ""),
          group.getReason().isEmpty() ? null : group.getReason(),
          marked ? group.getMarkIndex() : null,
          marked ? group.getMarkSegment() : null,
          marked ? group.getMarkPosition() : null,
          group.getSequence());
    }
    fields.put("groups", rows);
    return fields;
  }
}
