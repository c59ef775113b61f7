package io.millrace.client;

/**
 * The broker's word that a record is stored on a majority of the partition's replicas, as its fsync
 * policy says.
 *
 * @param term leadership term in which it was acknowledged
 * @param duplicate true when an earlier attempt had stored it; it is there once
 */
public record Receipt(
    String topic, int partition, long offset, long term, FsyncPolicy fsync, boolean duplicate) {}
