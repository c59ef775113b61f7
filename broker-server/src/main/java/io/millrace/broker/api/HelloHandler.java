package io.millrace.broker.api;

import io.millrace.broker.cluster.LocalBroker;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.frame.ApiKind;
import io.millrace.protocol.message.HelloRequest;
import io.millrace.protocol.message.HelloResponse;

/** The first request of a client: both sides learn whether they understand each other. */
public final class HelloHandler implements RequestHandler {

  private final LocalBroker identity;
  private final int maxFrameBytes;
  private final int featureLevel;
  private final String brokerVersion;

  public HelloHandler(
      LocalBroker identity, int maxFrameBytes, int featureLevel, String brokerVersion) {
    this.identity = identity;
    this.maxFrameBytes = maxFrameBytes;
    this.featureLevel = featureLevel;
    this.brokerVersion = brokerVersion;
  }

  @Override
  public ApiKind kind() {
    return ApiKind.HELLO;
  }

  @Override
  public void handle(RequestContext request, Responder responder) {
    HelloRequest hello = request.header(HelloRequest.parser());
    ProtocolVersions.choose(hello.getMinVersion(), hello.getMaxVersion());
    if (!hello.getClusterId().isEmpty() && !hello.getClusterId().equals(identity.clusterId())) {
      responder.failAndClose(
          ErrorCode.CLUSTER_MISMATCH,
          "the client wants cluster "
              + hello.getClusterId()
              + ", this broker belongs to "
              + identity.clusterId()
              + "; correct the bootstrap addresses");
      return;
    }
    request.connection().acceptClient(hello.getClientName());
    responder.respond(
        HelloResponse.newBuilder()
            .setClusterId(identity.clusterId())
            .setBrokerId(identity.id())
            .setMinVersion(ProtocolVersions.MIN)
            .setMaxVersion(ProtocolVersions.MAX)
            .setMaxFrameBytes(maxFrameBytes)
            .setFeatureLevel(featureLevel)
            .setBrokerVersion(brokerVersion)
            .build());
  }
}
