package io.millrace.client.fake;

import io.millrace.protocol.frame.Frame;
import io.millrace.protocol.frame.FrameDecoder;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import java.net.InetSocketAddress;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/** One broker's listening socket and connections. */
public final class FakeBroker {

  static final int MAX_FRAME_BYTES = 32 << 20;

  final int id;
  private final FakeCluster cluster;
  private final EventLoopGroup loops;
  private final Set<Channel> connections = ConcurrentHashMap.newKeySet();
  final AtomicInteger accepted = new AtomicInteger();
  private Channel server;
  private int port;

  FakeBroker(int id, FakeCluster cluster, EventLoopGroup loops) {
    this.id = id;
    this.cluster = cluster;
    this.loops = loops;
  }

  public int id() {
    return id;
  }

  public int port() {
    return port;
  }

  public String address() {
    return "127.0.0.1:" + port;
  }

  public int accepted() {
    return accepted.get();
  }

  /** Listens, on the same port as before if there was one. */
  public void start() {
    server =
        new ServerBootstrap()
            .group(loops)
            .channel(NioServerSocketChannel.class)
            .option(ChannelOption.SO_REUSEADDR, true)
            .childHandler(
                new ChannelInitializer<>() {
                  @Override
                  protected void initChannel(Channel channel) {
                    channel
                        .pipeline()
                        .addLast(new FrameDecoder(() -> MAX_FRAME_BYTES))
                        .addLast(new Handler());
                  }
                })
            .bind("127.0.0.1", port)
            .syncUninterruptibly()
            .channel();
    port = ((InetSocketAddress) server.localAddress()).getPort();
  }

  /** Stops listening and breaks all connections. */
  public void stop() {
    server.close().syncUninterruptibly();
    dropConnections();
  }

  public void dropConnections() {
    connections.forEach(c -> c.close().syncUninterruptibly());
  }

  private final class Handler extends ChannelInboundHandlerAdapter {
    @Override
    public void channelActive(ChannelHandlerContext ctx) {
      accepted.incrementAndGet();
      connections.add(ctx.channel());
    }

    @Override
    public void channelInactive(ChannelHandlerContext ctx) {
      connections.remove(ctx.channel());
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
      Frame frame = (Frame) message;
      try {
        cluster.handle(FakeBroker.this, ctx.channel(), frame);
      } finally {
        frame.release();
      }
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
      ctx.close();
    }
  }
}
