package io.millrace.broker.net;

import io.millrace.broker.api.Connection.Role;
import io.millrace.protocol.frame.FrameDecoder;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.util.ReferenceCountUtil;

/**
 * Stands in front of the frame decoder: a connection that has begun a large frame is read on only
 * after the frame's memory was reserved in the budget of the broker. Small frames need no
 * reservation; they are bounded by the number of connections. Brokers have a budget of their own,
 * so that clients cannot hold up replication.
 *
 * <p>Owns: the reservation of the frame being received. Threads: the event loop.
 */
final class InboundGate extends ChannelDuplexHandler {

  /** Frames up to this size are received without a reservation. */
  static final int SMALL_FRAME_BYTES = 64 * 1024;

  private final NettyConnection connection;
  private final FrameDecoder decoder;
  private final FrameBudget clientBudget;
  private final FrameBudget peerBudget;
  private final NetworkCounters counters;
  private FrameBudget.Grant grant;

  InboundGate(
      NettyConnection connection,
      FrameDecoder decoder,
      FrameBudget clientBudget,
      FrameBudget peerBudget,
      NetworkCounters counters) {
    this.connection = connection;
    this.decoder = decoder;
    this.clientBudget = clientBudget;
    this.peerBudget = peerBudget;
    this.counters = counters;
  }

  @Override
  public void channelRead(ChannelHandlerContext ctx, Object message) {
    counters.bytesIn.add(((ByteBuf) message).readableBytes());
    if (connection.isClosing()) {
      ReferenceCountUtil.release(message);
      return;
    }
    int before = decoder.pendingFrameBytes();
    ctx.fireChannelRead(message);
    int pending = decoder.pendingFrameBytes();
    connection.receiving(pending > 0);
    if (grant != null && pending != before) {
      releaseGrant(); // That frame is complete; another one may have begun.
    }
    if (grant == null && pending > SMALL_FRAME_BYTES) {
      reserve(pending);
    }
  }

  /**
   * Netty's decoder asks for more by itself while it has no whole message, also when automatic
   * reading is off; that must not get past a pause.
   */
  @Override
  public void read(ChannelHandlerContext ctx) {
    if (!connection.isPaused()) {
      ctx.read();
    }
  }

  private void reserve(int bytes) {
    FrameBudget budget = connection.role() == Role.PEER ? peerBudget : clientBudget;
    grant = budget.reserve(bytes, connection::frameGranted);
    if (!grant.isGranted()) {
      connection.pause(NettyConnection.FRAME_BUDGET);
    }
  }

  @Override
  public void channelInactive(ChannelHandlerContext ctx) {
    releaseGrant();
    ctx.fireChannelInactive();
  }

  @Override
  public void handlerRemoved(ChannelHandlerContext ctx) {
    releaseGrant();
  }

  private void releaseGrant() {
    if (grant != null) {
      grant.release();
      grant = null;
    }
  }
}
