package io.millrace.broker.api;

import io.millrace.broker.raft.transport.NetworkFaults;
import io.millrace.broker.raft.transport.NetworkFaults.Flow;
import io.millrace.broker.raft.transport.NetworkFaults.Link;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.frame.ApiKind;
import io.millrace.protocol.message.FlowFaults;
import io.millrace.protocol.message.NetworkFaultsRequest;
import io.millrace.protocol.message.NetworkFaultsResponse;
import io.millrace.protocol.message.PeerFaults;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.IntPredicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A client commands faults in the network between this broker and others. Refused, reading
 * included, unless the configuration allows it. A request is carried out whole or not at all.
 */
public final class NetworkFaultsHandler implements RequestHandler {

  private static final Logger LOG = LoggerFactory.getLogger(NetworkFaultsHandler.class);

  private final int brokerId;
  private final boolean allowed;
  private final NetworkFaults faults;
  private final IntPredicate isPeer;

  /**
   * @param isPeer whether this broker keeps connections to the one with that id
   */
  public NetworkFaultsHandler(
      int brokerId, boolean allowed, NetworkFaults faults, IntPredicate isPeer) {
    this.brokerId = brokerId;
    this.allowed = allowed;
    this.faults = faults;
    this.isPeer = isPeer;
  }

  @Override
  public ApiKind kind() {
    return ApiKind.NETWORK_FAULTS;
  }

  @Override
  public void handle(RequestContext request, Responder responder) {
    NetworkFaultsRequest header = request.header(NetworkFaultsRequest.parser());
    if (!allowed) {
      throw new RequestRefusedException(
          ErrorCode.REFUSED,
          "broker "
              + brokerId
              + " does not allow network faults, which are for tests and learning: start it with"
              + " faults.allowed=true in its configuration (a local cluster: millrace cluster down,"
              + " then millrace cluster up --allow-faults)");
    }
    switch (header.getAction()) {
      case FAULTS_READ -> {}
      case FAULTS_REPLACE -> replace(header);
      case UNRECOGNIZED ->
          throw RequestLimits.malformed("action " + header.getActionValue() + " is not known here");
    }
    responder.respond(
        NetworkFaultsResponse.newBuilder()
            .setBrokerId(brokerId)
            .addAllFaults(toWire(faults.inForce()))
            .build());
  }

  private void replace(NetworkFaultsRequest header) {
    Map<Integer, Link> links = new TreeMap<>();
    for (PeerFaults peer : header.getFaultsList()) {
      int id = peer.getBrokerId();
      if (!isPeer.test(id)) {
        throw new RequestRefusedException(
            ErrorCode.REFUSED,
            id == brokerId
                ? "broker " + id + " has no network to itself"
                : "broker "
                    + brokerId
                    + " has no network to broker "
                    + id
                    + ", which it does not"
                    + " know");
      }
      try {
        if (links.put(id, new Link(fromWire(peer.getTo()), fromWire(peer.getFrom()))) != null) {
          throw RequestLimits.malformed("broker " + id + " is named twice");
        }
      } catch (IllegalArgumentException outOfRange) {
        throw RequestLimits.malformed("broker " + id + ": " + outOfRange.getMessage());
      }
    }
    if (links.isEmpty()) {
      faults.heal();
    } else {
      faults.replace(links);
    }
    LOG.warn("network faults by command of a client: {}", faults);
  }

  private static Flow fromWire(FlowFaults flow) {
    return new Flow(
        flow.getDropped(), flow.getLatencyMillis(), flow.getJitterMillis(), flow.getLossPercent());
  }

  /** The faults as messages, in the order of the peers. */
  public static List<PeerFaults> toWire(Map<Integer, Link> links) {
    List<PeerFaults> all = new ArrayList<>();
    links.forEach(
        (peer, link) ->
            all.add(
                PeerFaults.newBuilder()
                    .setBrokerId(peer)
                    .setTo(toWire(link.to()))
                    .setFrom(toWire(link.from()))
                    .build()));
    return all;
  }

  private static FlowFaults toWire(Flow flow) {
    return FlowFaults.newBuilder()
        .setDropped(flow.dropped())
        .setLatencyMillis(flow.latencyMillis())
        .setJitterMillis(flow.jitterMillis())
        .setLossPercent(flow.lossPercent())
        .build();
  }
}
