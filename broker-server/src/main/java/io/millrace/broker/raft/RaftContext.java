package io.millrace.broker.raft;

import io.millrace.broker.log.Disk;
import io.millrace.broker.log.DiskSpace;
import io.millrace.broker.raft.storage.VotesJournal;
import io.millrace.broker.raft.transport.PeerNetwork;
import io.millrace.broker.raft.transport.PeerRequests;

/**
 * What all replicas of a broker share.
 *
 * @param bootChanged the machine was started anew since this broker last ran, so what was not
 *     synced may be lost
 */
public record RaftContext(
    int brokerId,
    Disk disk,
    VotesJournal votes,
    PeerNetwork network,
    PeerRequests requests,
    RaftSettings settings,
    DiskSpace diskSpace,
    boolean bootChanged) {}
