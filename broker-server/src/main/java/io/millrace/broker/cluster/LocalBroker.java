package io.millrace.broker.cluster;

import java.util.UUID;

/** Who this broker is: the content of its broker.id file. */
public record LocalBroker(String clusterId, int id, UUID incarnation) {}
