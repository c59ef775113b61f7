package io.millrace.client.net;

import io.millrace.protocol.frame.Frame;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;

/** Hands what happens on one channel to its link. Threads: the channel's event loop. */
final class LinkHandler extends ChannelInboundHandlerAdapter {

  private final BrokerLink link;
  private String reason = "closed by the broker";

  LinkHandler(BrokerLink link) {
    this.link = link;
  }

  @Override
  public void channelRead(ChannelHandlerContext ctx, Object message) {
    Frame frame = (Frame) message;
    try {
      link.received(ctx.channel(), frame);
    } finally {
      frame.release();
    }
  }

  @Override
  public void channelWritabilityChanged(ChannelHandlerContext ctx) {
    link.writabilityChanged(ctx.channel());
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
    reason = Reasons.of(cause);
    ctx.close();
  }

  @Override
  public void channelInactive(ChannelHandlerContext ctx) {
    link.closed(ctx.channel(), reason);
  }
}
