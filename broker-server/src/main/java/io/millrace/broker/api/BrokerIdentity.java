package io.millrace.broker.api;

import java.util.UUID;

/**
 * Who this broker is.
 *
 * @param incarnation of its data directory: a wiped and newly formatted one has another
 */
public record BrokerIdentity(String clusterId, int brokerId, UUID incarnation) {}
