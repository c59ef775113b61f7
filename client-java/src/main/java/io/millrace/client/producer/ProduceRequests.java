package io.millrace.client.producer;

import io.millrace.client.ProducerConfig;
import io.millrace.client.internal.ClientContext;
import io.millrace.client.net.Api;
import io.millrace.client.net.BrokerAddress;
import io.millrace.protocol.batch.BatchHeader;
import io.millrace.protocol.message.ProduceBatch;
import io.millrace.protocol.message.ProduceRequest;
import io.netty.buffer.Unpooled;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * Puts batches for the same broker into one PRODUCE request. At most one batch per partition is in
 * a request, and a partition with failures has its own: a request is answered when its last batch
 * is, and healthy partitions shall not wait for it.
 *
 * <p>Threads: the sender's.
 */
final class ProduceRequests {

  /** More in one request would only delay the receipts of its first batches. */
  private static final int MAX_REQUEST_BYTES = 2 << 20;

  /** Room for frame and header in the broker's limit. */
  private static final int HEADER_ROOM_BYTES = 64 << 10;

  private static final class Open {
    final BrokerAddress address;
    List<ProducerBatch> batches = new ArrayList<>();
    int bytes;

    Open(BrokerAddress address) {
      this.address = address;
    }
  }

  private final Sender sender;
  private final ClientContext context;
  private final ProducerConfig config;
  private final Map<Integer, Open> open = new HashMap<>();

  ProduceRequests(Sender sender, ClientContext context, ProducerConfig config) {
    this.sender = sender;
    this.context = context;
    this.config = config;
  }

  void add(int broker, BrokerAddress address, ProducerBatch batch, long now) {
    if (batch.lane.state.inTrouble()) {
      send(broker, address, List.of(batch), now);
      return;
    }
    Open request = open.computeIfAbsent(broker, b -> new Open(address));
    if (!request.batches.isEmpty() && request.bytes + batch.bytes() > limit(address)) {
      send(broker, address, request.batches, now);
      request.batches = new ArrayList<>();
      request.bytes = 0;
    }
    request.batches.add(batch);
    request.bytes += batch.bytes();
  }

  private int limit(BrokerAddress address) {
    int brokerLimit = context.connections().maxFrameBytes(address);
    return brokerLimit == 0
        ? MAX_REQUEST_BYTES
        : Math.min(MAX_REQUEST_BYTES, brokerLimit - HEADER_ROOM_BYTES);
  }

  void sendAll(long now) {
    open.forEach((broker, request) -> send(broker, request.address, request.batches, now));
    open.clear();
  }

  private void send(int broker, BrokerAddress address, List<ProducerBatch> batches, long now) {
    long timeout = config.requestTimeoutMillis();
    ByteBuffer[] payload = new ByteBuffer[batches.size()];
    ProduceRequest.Builder request = ProduceRequest.newBuilder();
    ProduceAttempt attempt = new ProduceAttempt(broker, batches, now, sender);
    for (int i = 0; i < payload.length; i++) {
      ProducerBatch batch = batches.get(i);
      LaneState lane = batch.lane.state;
      payload[i] = batch.built.duplicate();
      request.addBatches(
          ProduceBatch.newBuilder()
              .setTopicId(batch.lane.topicId())
              .setPartition(batch.lane.partition())
              .setSize(batch.bytes())
              .setCrc(BatchHeader.crc(batch.built, 0))
              .setResume(lane.resumes(batch)));
      lane.sent(batch, attempt);
      long left = TimeUnit.NANOSECONDS.toMillis(sender.deliveryLeftNanos(batch, now));
      timeout = Math.max(1, Math.min(timeout, left));
    }
    request.setContext(context.metadata().context(timeout));
    context
        .connections()
        .send(
            address,
            broker,
            Api.PRODUCE,
            request.build(),
            Unpooled.wrappedBuffer(payload),
            timeout,
            attempt);
  }
}
