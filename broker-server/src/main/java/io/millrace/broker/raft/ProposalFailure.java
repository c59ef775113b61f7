package io.millrace.broker.raft;

/**
 * Why a proposal was not applied by its proposer.
 *
 * @param certainlyNotAppended true: the entry is not and will never be in the log; false: unknown,
 *     a later leader may still commit it
 */
public record ProposalFailure(boolean certainlyNotAppended, String reason) {}
