package io.millrace.broker.cluster;

import java.util.UUID;

/**
 * A registered broker.
 *
 * @param incarnation of its data directory; fixed for the life of the id
 * @param maxFeatureLevel highest feature level whose log entries its software understands
 */
public record BrokerEntry(
    int id, UUID incarnation, String host, int port, String version, int maxFeatureLevel) {}
