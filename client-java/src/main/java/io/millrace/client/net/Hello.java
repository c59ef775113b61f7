package io.millrace.client.net;

import io.millrace.client.ClientConfig;
import io.millrace.protocol.message.HelloRequest;
import io.millrace.protocol.message.HelloResponse;
import io.millrace.protocol.message.RequestContext;

/** The greeting on a new connection: which protocol, which cluster. */
final class Hello {

  private static final String CLIENT_NAME = "millrace-java 0.1";
  private static final int VERSION = 1;

  private Hello() {}

  static HelloRequest request(ClientConfig config, ClusterIdentity cluster) {
    return HelloRequest.newBuilder()
        .setContext(
            RequestContext.newBuilder()
                .setClientId(config.clientId())
                .setDeadlineMillis(config.connectTimeoutMillis()))
        .setClientName(CLIENT_NAME)
        .setMinVersion(VERSION)
        .setMaxVersion(VERSION)
        .setClusterId(cluster.get())
        .build();
  }

  /** Why this broker cannot be talked to; null when it can. */
  static String refusal(HelloResponse hello, ClusterIdentity cluster) {
    if (hello.getMinVersion() > VERSION || hello.getMaxVersion() < VERSION) {
      return "it speaks protocol versions "
          + hello.getMinVersion()
          + " to "
          + hello.getMaxVersion()
          + ", this client "
          + VERSION
          + "; use matching releases";
    }
    if (!cluster.accept(hello.getClusterId())) {
      return "it belongs to cluster "
          + hello.getClusterId()
          + ", this client to "
          + cluster.get()
          + "; correct the address";
    }
    return null;
  }
}
