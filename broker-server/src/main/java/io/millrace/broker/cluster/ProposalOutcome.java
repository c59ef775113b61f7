package io.millrace.broker.cluster;

import io.millrace.broker.cluster.message.MetadataResult;
import io.millrace.broker.raft.ProposalFailure;

/** How a proposal of a metadata command at this broker ended. */
public sealed interface ProposalOutcome {

  /** It is committed and applied; the result may still be a refusal. */
  record Applied(MetadataResult result) implements ProposalOutcome {}

  record Failed(ProposalFailure failure) implements ProposalOutcome {}
}
