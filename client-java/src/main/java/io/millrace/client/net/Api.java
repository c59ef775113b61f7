package io.millrace.client.net;

import com.google.protobuf.Message;
import com.google.protobuf.Parser;
import io.millrace.protocol.frame.ApiKind;
import io.millrace.protocol.message.AlterTopicResponse;
import io.millrace.protocol.message.BrokerStatusResponse;
import io.millrace.protocol.message.CreateTopicResponse;
import io.millrace.protocol.message.DeleteRecordsResponse;
import io.millrace.protocol.message.DeleteTopicResponse;
import io.millrace.protocol.message.FetchResponse;
import io.millrace.protocol.message.HelloResponse;
import io.millrace.protocol.message.InitProducerIdResponse;
import io.millrace.protocol.message.ListOffsetsResponse;
import io.millrace.protocol.message.MetadataResponse;
import io.millrace.protocol.message.NetworkFaultsResponse;
import io.millrace.protocol.message.ProduceResponse;
import io.millrace.protocol.message.ResponseContext;
import java.util.function.Function;

/** A kind of request with the type of its response. */
public record Api<R extends Message>(
    ApiKind kind, Parser<R> parser, Function<R, ResponseContext> context) {

  public static final Api<HelloResponse> HELLO =
      new Api<>(ApiKind.HELLO, HelloResponse.parser(), HelloResponse::getContext);
  public static final Api<MetadataResponse> METADATA =
      new Api<>(ApiKind.METADATA, MetadataResponse.parser(), MetadataResponse::getContext);
  public static final Api<ProduceResponse> PRODUCE =
      new Api<>(ApiKind.PRODUCE, ProduceResponse.parser(), ProduceResponse::getContext);
  public static final Api<FetchResponse> FETCH =
      new Api<>(ApiKind.FETCH, FetchResponse.parser(), FetchResponse::getContext);
  public static final Api<ListOffsetsResponse> LIST_OFFSETS =
      new Api<>(
          ApiKind.LIST_OFFSETS, ListOffsetsResponse.parser(), ListOffsetsResponse::getContext);
  public static final Api<InitProducerIdResponse> INIT_PRODUCER_ID =
      new Api<>(
          ApiKind.INIT_PRODUCER_ID,
          InitProducerIdResponse.parser(),
          InitProducerIdResponse::getContext);
  public static final Api<CreateTopicResponse> CREATE_TOPIC =
      new Api<>(
          ApiKind.CREATE_TOPIC, CreateTopicResponse.parser(), CreateTopicResponse::getContext);
  public static final Api<DeleteTopicResponse> DELETE_TOPIC =
      new Api<>(
          ApiKind.DELETE_TOPIC, DeleteTopicResponse.parser(), DeleteTopicResponse::getContext);
  public static final Api<AlterTopicResponse> ALTER_TOPIC =
      new Api<>(ApiKind.ALTER_TOPIC, AlterTopicResponse.parser(), AlterTopicResponse::getContext);
  public static final Api<DeleteRecordsResponse> DELETE_RECORDS =
      new Api<>(
          ApiKind.DELETE_RECORDS,
          DeleteRecordsResponse.parser(),
          DeleteRecordsResponse::getContext);
  public static final Api<BrokerStatusResponse> BROKER_STATUS =
      new Api<>(
          ApiKind.BROKER_STATUS, BrokerStatusResponse.parser(), BrokerStatusResponse::getContext);
  public static final Api<NetworkFaultsResponse> NETWORK_FAULTS =
      new Api<>(
          ApiKind.NETWORK_FAULTS,
          NetworkFaultsResponse.parser(),
          NetworkFaultsResponse::getContext);
}
