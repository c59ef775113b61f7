package io.millrace.broker.net;

import io.millrace.broker.raft.transport.PeerTls;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;

/**
 * Tells by its first byte whether a connection speaks TLS, as brokers do, or frames in plain text,
 * as clients do, and steps aside. Whether plain text is good enough is decided when the other side
 * has said who it is.
 *
 * <p>Threads: the event loop. Buffers: passes on what it gets.
 */
final class TlsDetector extends ChannelInboundHandlerAdapter {

  private final PeerTls tls;

  TlsDetector(PeerTls tls) {
    this.tls = tls;
  }

  @Override
  public void channelRead(ChannelHandlerContext ctx, Object message) {
    ByteBuf bytes = (ByteBuf) message;
    if (!bytes.isReadable()) {
      bytes.release();
      return;
    }
    if (bytes.getUnsignedByte(bytes.readerIndex()) == PeerTls.FIRST_BYTE) {
      ctx.pipeline().addAfter(ctx.name(), "tls", tls.newServer(ctx.alloc()));
    }
    ctx.pipeline().remove(this);
    ctx.fireChannelRead(message);
  }
}
