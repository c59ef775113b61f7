package io.millrace.broker.api;

import io.millrace.broker.cluster.LocalBroker;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.frame.ApiKind;
import io.millrace.protocol.message.BrokerStatusRequest;
import io.millrace.protocol.message.BrokerStatusResponse;
import io.millrace.protocol.message.DiskStatus;
import io.millrace.protocol.message.Gauge;
import io.millrace.protocol.message.PeerFaults;
import io.millrace.protocol.message.ReplicaStatus;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;

/**
 * What this broker knows of itself. It asks every replica, whose answers may take locks and files,
 * so it runs on the executor.
 */
public final class BrokerStatusHandler implements RequestHandler {

  /** Where the parts of the answer come from. Threads: the executor. */
  public interface Source {

    /** Broker id of the leader of the metadata group, 0 = unknown. */
    int metadataLeader();

    /**
     * @param segmentsOf topic whose segments are listed too, empty = none
     */
    List<ReplicaStatus> replicas(String segmentsOf);

    /** Budgets and counters of all packages. */
    List<Gauge> gauges();

    /** Room on the disk of this broker's data. */
    DiskStatus disk();

    /** Brokers that this one is not connected to, or that are silent; ascending. */
    List<Integer> unreachedPeers();

    /** Commanded faults in the network to other brokers. */
    List<PeerFaults> networkFaults();
  }

  private final LocalBroker identity;
  private final String version;
  private final Source source;
  private final Executor executor;
  private final DistinctErrors errors;
  private final long startedNanos = System.nanoTime();

  public BrokerStatusHandler(
      LocalBroker identity,
      String version,
      Source source,
      Executor executor,
      DistinctErrors errors) {
    this.identity = identity;
    this.version = version;
    this.source = source;
    this.executor = executor;
    this.errors = errors;
  }

  @Override
  public ApiKind kind() {
    return ApiKind.BROKER_STATUS;
  }

  @Override
  public void handle(RequestContext request, Responder responder) {
    String segmentsOf = request.header(BrokerStatusRequest.parser()).getSegmentsOf();
    try {
      executor.execute(() -> answer(segmentsOf, responder));
    } catch (RejectedExecutionException stopped) {
      responder.fail(ErrorCode.SHUTTING_DOWN, "this broker stops");
    }
  }

  private void answer(String segmentsOf, Responder responder) {
    BrokerStatusResponse response;
    try {
      response =
          BrokerStatusResponse.newBuilder()
              .setClusterId(identity.clusterId())
              .setBrokerId(identity.id())
              .setIncarnation(identity.incarnation().toString())
              .setVersion(version)
              .setPid(ProcessHandle.current().pid())
              .setUptimeMillis(TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - startedNanos))
              .setMetadataLeader(source.metadataLeader())
              .addAllReplicas(source.replicas(segmentsOf))
              .addAllGauges(source.gauges())
              .addAllNetworkFaults(source.networkFaults())
              .addAllUnreachedPeers(source.unreachedPeers())
              .setDisk(source.disk())
              .build();
    } catch (RuntimeException | Error fault) {
      errors.record("broker status", fault);
      responder.fail(ErrorCode.SERVER_ERROR, "broker status failed: " + fault);
      return;
    }
    responder.respond(response);
  }
}
