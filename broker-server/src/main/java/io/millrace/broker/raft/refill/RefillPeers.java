package io.millrace.broker.raft.refill;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import com.google.protobuf.Parser;
import io.millrace.broker.raft.message.Checkpoint;
import io.millrace.broker.raft.transport.PeerNetwork;
import io.millrace.broker.raft.transport.PeerRequestException;
import io.millrace.protocol.frame.ApiKind;
import io.millrace.protocol.frame.Frame;
import io.millrace.protocol.frame.MalformedFrameException;
import io.millrace.protocol.message.PeerChannel;
import io.millrace.protocol.message.ReplicaCheckpointRequest;
import io.millrace.protocol.message.ReplicaCheckpointResponse;
import io.millrace.protocol.message.ReplicaFetchRequest;
import io.millrace.protocol.message.ReplicaFetchResponse;
import io.millrace.protocol.message.ReplicaStateRequest;
import io.millrace.protocol.message.ReplicaStateResponse;
import io.millrace.protocol.message.ResponseContext;
import io.netty.buffer.ByteBufUtil;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Asks other brokers for what a refill needs.
 *
 * <p>Entries and checkpoints come by the data connection, so that votes and heartbeats never wait
 * behind them.
 *
 * <p>Threads: one refill's; each call blocks until the answer or its timeout. {@link #cancel} from
 * any.
 */
final class RefillPeers {

  private static final Logger LOG = LoggerFactory.getLogger(RefillPeers.class);

  private static final long STATE_TIMEOUT_MILLIS = 2000;
  private static final long DATA_TIMEOUT_MILLIS = 10_000;

  private final PeerNetwork network;
  private volatile CompletableFuture<?> waitingFor;
  private volatile boolean cancelled;

  RefillPeers(PeerNetwork network) {
    this.network = network;
  }

  private record Answer<M>(M header, byte[] payload) {}

  /** The answers of those brokers that answer; all are asked at once. */
  List<PeerLog> states(String group, Collection<Integer> brokers) throws InterruptedException {
    ReplicaStateRequest request = ReplicaStateRequest.newBuilder().setGroup(group).build();
    Map<Integer, CompletableFuture<Answer<ReplicaStateResponse>>> asked = new TreeMap<>();
    for (int broker : brokers) {
      asked.put(
          broker,
          send(
              broker,
              PeerChannel.PEER_CONTROL,
              ApiKind.REPLICA_STATE,
              request,
              ReplicaStateResponse.parser(),
              STATE_TIMEOUT_MILLIS));
    }
    List<PeerLog> answers = new ArrayList<>();
    for (var each : asked.entrySet()) {
      try {
        ReplicaStateResponse answer = await(each.getValue(), STATE_TIMEOUT_MILLIS).header();
        refuseError(answer.getContext());
        answers.add(PeerLog.of(each.getKey(), answer));
      } catch (IOException e) {
        LOG.debug("{}: broker {} does not tell its state", group, each.getKey(), e);
      }
    }
    return answers;
  }

  /**
   * A run of entries.
   *
   * @param changed the source is not what it was
   * @param batches one after the other, {@code entries} of them
   */
  record Entries(boolean changed, int entries, ByteBuffer batches) {}

  Entries fetch(int broker, ReplicaFetchRequest request) throws IOException, InterruptedException {
    Answer<ReplicaFetchResponse> answer =
        await(
            send(
                broker,
                PeerChannel.PEER_DATA,
                ApiKind.REPLICA_FETCH,
                request,
                ReplicaFetchResponse.parser(),
                DATA_TIMEOUT_MILLIS),
            DATA_TIMEOUT_MILLIS);
    refuseError(answer.header().getContext());
    return new Entries(
        answer.header().getChanged(),
        answer.header().getEntries(),
        ByteBuffer.wrap(answer.payload()));
  }

  /** The newest checkpoint of a broker, null if it has none. */
  Checkpoint checkpoint(int broker, String group, int partBytes)
      throws IOException, InterruptedException {
    while (true) {
      byte[] all = null;
      long index = 0;
      int position = 0;
      do {
        Answer<ReplicaCheckpointResponse> part = part(broker, group, index, position, partBytes);
        if (part.header().getIndex() == 0) {
          if (index == 0) {
            return null;
          }
          all = null; // A newer one took its place meanwhile.
          break;
        }
        index = part.header().getIndex();
        all = all == null ? new byte[part.header().getTotalBytes()] : all;
        if (part.payload().length == 0 && position < all.length
            || part.payload().length > all.length - position) {
          throw new IOException(
              "broker "
                  + broker
                  + " sent "
                  + part.payload().length
                  + " bytes of a checkpoint of "
                  + all.length
                  + " at "
                  + position);
        }
        System.arraycopy(part.payload(), 0, all, position, part.payload().length);
        position += part.payload().length;
      } while (position < all.length);
      if (all != null) {
        try {
          return Checkpoint.parseFrom(all);
        } catch (InvalidProtocolBufferException e) {
          throw new IOException("the checkpoint of broker " + broker + " cannot be read", e);
        }
      }
    }
  }

  private Answer<ReplicaCheckpointResponse> part(
      int broker, String group, long index, int position, int maxBytes)
      throws IOException, InterruptedException {
    ReplicaCheckpointRequest request =
        ReplicaCheckpointRequest.newBuilder()
            .setGroup(group)
            .setIndex(index)
            .setPosition(position)
            .setMaxBytes(maxBytes)
            .build();
    Answer<ReplicaCheckpointResponse> answer =
        await(
            send(
                broker,
                PeerChannel.PEER_DATA,
                ApiKind.REPLICA_CHECKPOINT,
                request,
                ReplicaCheckpointResponse.parser(),
                DATA_TIMEOUT_MILLIS),
            DATA_TIMEOUT_MILLIS);
    refuseError(answer.header().getContext());
    return answer;
  }

  private static void refuseError(ResponseContext context) throws IOException {
    if (context.hasError()) {
      throw new IOException(context.getError().getText());
    }
  }

  /** Ends the present call, and each later one, with an IOException. */
  void cancel() {
    cancelled = true;
    CompletableFuture<?> answer = waitingFor;
    if (answer != null) {
      answer.completeExceptionally(new IOException("the refill is over"));
    }
  }

  private <T> T await(CompletableFuture<T> answer, long millis)
      throws IOException, InterruptedException {
    waitingFor = answer;
    if (cancelled) {
      throw new IOException("the refill is over");
    }
    try {
      return answer.get(2 * millis, TimeUnit.MILLISECONDS);
    } catch (ExecutionException e) {
      throw new IOException(e.getCause().getMessage(), e.getCause());
    } catch (TimeoutException e) {
      throw new IOException("no answer", e);
    } finally {
      waitingFor = null;
    }
  }

  private <M extends Message> CompletableFuture<Answer<M>> send(
      int broker,
      PeerChannel channel,
      ApiKind kind,
      Message header,
      Parser<M> parser,
      long timeoutMillis) {
    CompletableFuture<Answer<M>> answer = new CompletableFuture<>();
    try {
      network.request(
          broker,
          channel,
          kind,
          header,
          null,
          timeoutMillis,
          new PeerNetwork.ResponseHandler() {
            @Override
            public void onResponse(Frame frame) {
              try {
                answer.complete(
                    new Answer<>(frame.header(parser), ByteBufUtil.getBytes(frame.payload())));
              } catch (MalformedFrameException e) {
                answer.completeExceptionally(e);
              } finally {
                frame.release();
              }
            }

            @Override
            public void onFailure(PeerRequestException failure) {
              answer.completeExceptionally(failure);
            }
          });
    } catch (PeerRequestException e) {
      answer.completeExceptionally(e);
    }
    return answer;
  }
}
