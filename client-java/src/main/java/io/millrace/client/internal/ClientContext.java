package io.millrace.client.internal;

import io.millrace.client.ClientConfig;
import io.millrace.client.metadata.MetadataCache;
import io.millrace.client.net.Connections;

/** What producers, readers and admin of one client share. */
public record ClientContext(
    ClientConfig config, Connections connections, MetadataCache metadata, Callbacks callbacks) {}
