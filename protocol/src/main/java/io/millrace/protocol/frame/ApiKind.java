package io.millrace.protocol.frame;

import com.google.protobuf.Message;
import com.google.protobuf.Parser;
import io.millrace.protocol.message.AlterTopicRequest;
import io.millrace.protocol.message.AlterTopicResponse;
import io.millrace.protocol.message.BrokerStatusRequest;
import io.millrace.protocol.message.BrokerStatusResponse;
import io.millrace.protocol.message.CreateTopicRequest;
import io.millrace.protocol.message.CreateTopicResponse;
import io.millrace.protocol.message.DeleteRecordsRequest;
import io.millrace.protocol.message.DeleteRecordsResponse;
import io.millrace.protocol.message.DeleteTopicRequest;
import io.millrace.protocol.message.DeleteTopicResponse;
import io.millrace.protocol.message.FetchRequest;
import io.millrace.protocol.message.FetchResponse;
import io.millrace.protocol.message.HelloRequest;
import io.millrace.protocol.message.HelloResponse;
import io.millrace.protocol.message.InitProducerIdRequest;
import io.millrace.protocol.message.InitProducerIdResponse;
import io.millrace.protocol.message.LeaderAnnouncement;
import io.millrace.protocol.message.LeaderAnnouncementResponse;
import io.millrace.protocol.message.ListOffsetsRequest;
import io.millrace.protocol.message.ListOffsetsResponse;
import io.millrace.protocol.message.MetadataCommandHeader;
import io.millrace.protocol.message.MetadataCommandResponse;
import io.millrace.protocol.message.MetadataRequest;
import io.millrace.protocol.message.MetadataResponse;
import io.millrace.protocol.message.NetworkFaultsRequest;
import io.millrace.protocol.message.NetworkFaultsResponse;
import io.millrace.protocol.message.PeerHelloRequest;
import io.millrace.protocol.message.PeerHelloResponse;
import io.millrace.protocol.message.PeerPingRequest;
import io.millrace.protocol.message.PeerPingResponse;
import io.millrace.protocol.message.PeerProofRequest;
import io.millrace.protocol.message.PeerProofResponse;
import io.millrace.protocol.message.ProduceRequest;
import io.millrace.protocol.message.ProduceResponse;
import io.millrace.protocol.message.RaftHeader;
import io.millrace.protocol.message.RaftResponseHeader;
import io.millrace.protocol.message.ReplicaCheckpointRequest;
import io.millrace.protocol.message.ReplicaCheckpointResponse;
import io.millrace.protocol.message.ReplicaFetchRequest;
import io.millrace.protocol.message.ReplicaFetchResponse;
import io.millrace.protocol.message.ReplicaStateRequest;
import io.millrace.protocol.message.ReplicaStateResponse;
import io.millrace.protocol.message.TransferLeaderRequest;
import io.millrace.protocol.message.TransferLeaderResponse;

/**
 * Every kind of request, with the messages of its header. Codes below 100 are for clients, from 100
 * between brokers; they are never reused. Every response has a ResponseContext as field 1.
 */
public enum ApiKind {
  HELLO(1, HelloRequest.parser(), HelloResponse.parser()),
  METADATA(2, MetadataRequest.parser(), MetadataResponse.parser()),
  PRODUCE(3, ProduceRequest.parser(), ProduceResponse.parser()),
  FETCH(4, FetchRequest.parser(), FetchResponse.parser()),
  LIST_OFFSETS(5, ListOffsetsRequest.parser(), ListOffsetsResponse.parser()),
  INIT_PRODUCER_ID(6, InitProducerIdRequest.parser(), InitProducerIdResponse.parser()),
  CREATE_TOPIC(7, CreateTopicRequest.parser(), CreateTopicResponse.parser()),
  DELETE_TOPIC(8, DeleteTopicRequest.parser(), DeleteTopicResponse.parser()),
  BROKER_STATUS(9, BrokerStatusRequest.parser(), BrokerStatusResponse.parser()),
  NETWORK_FAULTS(10, NetworkFaultsRequest.parser(), NetworkFaultsResponse.parser()),
  DELETE_RECORDS(11, DeleteRecordsRequest.parser(), DeleteRecordsResponse.parser()),
  ALTER_TOPIC(12, AlterTopicRequest.parser(), AlterTopicResponse.parser()),

  PEER_HELLO(100, PeerHelloRequest.parser(), PeerHelloResponse.parser()),
  RAFT(101, RaftHeader.parser(), RaftResponseHeader.parser()),
  METADATA_COMMAND(102, MetadataCommandHeader.parser(), MetadataCommandResponse.parser()),
  LEADER_ANNOUNCEMENT(103, LeaderAnnouncement.parser(), LeaderAnnouncementResponse.parser()),
  TRANSFER_LEADER(104, TransferLeaderRequest.parser(), TransferLeaderResponse.parser()),
  PEER_PING(105, PeerPingRequest.parser(), PeerPingResponse.parser()),
  REPLICA_STATE(106, ReplicaStateRequest.parser(), ReplicaStateResponse.parser()),
  REPLICA_FETCH(107, ReplicaFetchRequest.parser(), ReplicaFetchResponse.parser()),
  REPLICA_CHECKPOINT(108, ReplicaCheckpointRequest.parser(), ReplicaCheckpointResponse.parser()),
  PEER_PROOF(110, PeerProofRequest.parser(), PeerProofResponse.parser());

  private static final ApiKind[] BY_CODE = new ApiKind[128];

  static {
    for (ApiKind kind : values()) {
      BY_CODE[kind.code] = kind;
    }
  }

  private final int code;
  private final Parser<? extends Message> request;
  private final Parser<? extends Message> response;

  ApiKind(int code, Parser<? extends Message> request, Parser<? extends Message> response) {
    this.code = code;
    this.request = request;
    this.response = response;
  }

  public int code() {
    return code;
  }

  public Parser<? extends Message> request() {
    return request;
  }

  public Parser<? extends Message> response() {
    return response;
  }

  /** Null when no kind has this code. */
  public static ApiKind of(int code) {
    return code >= 0 && code < BY_CODE.length ? BY_CODE[code] : null;
  }
}
