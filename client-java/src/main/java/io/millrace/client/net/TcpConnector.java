package io.millrace.client.net;

import io.millrace.client.ClientConfig;
import io.millrace.protocol.frame.FrameDecoder;
import io.netty.bootstrap.Bootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import io.netty.channel.WriteBufferWaterMark;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.util.NetUtil;
import io.netty.util.concurrent.DefaultThreadFactory;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.Promise;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * Opens TCP connections with the frame decoder in place.
 *
 * <p>Threads: host names are resolved on a thread of their own, which lives while it is needed:
 * look-ups block, and event loops must not.
 */
final class TcpConnector implements Connector {

  private static final int WRITE_LOW_BYTES = 1 << 20;
  private static final int WRITE_HIGH_BYTES = 4 << 20;

  private final ClientConfig config;
  private final ThreadPoolExecutor resolver;

  TcpConnector(ClientConfig config) {
    this.config = config;
    this.resolver =
        new ThreadPoolExecutor(
            1,
            1,
            1,
            TimeUnit.SECONDS,
            new LinkedBlockingQueue<>(),
            new DefaultThreadFactory("millrace-resolve", true));
    resolver.allowCoreThreadTimeOut(true);
  }

  @Override
  public Future<Channel> connect(BrokerAddress address, EventLoop loop, LinkHandler handler) {
    Promise<Channel> promise = loop.newPromise();
    byte[] literal = NetUtil.createByteArrayFromIpAddressString(address.host());
    if (literal != null) {
      try {
        open(
            new InetSocketAddress(InetAddress.getByAddress(literal), address.port()),
            loop,
            handler,
            promise);
      } catch (UnknownHostException e) {
        promise.setFailure(e);
      }
      return promise;
    }
    try {
      resolver.execute(() -> resolve(address, loop, handler, promise));
    } catch (RejectedExecutionException e) {
      promise.setFailure(e);
    }
    return promise;
  }

  private void resolve(
      BrokerAddress address, EventLoop loop, LinkHandler handler, Promise<Channel> promise) {
    try {
      InetAddress resolved = InetAddress.getByName(address.host());
      open(new InetSocketAddress(resolved, address.port()), loop, handler, promise);
    } catch (UnknownHostException e) {
      promise.tryFailure(e);
    } catch (RuntimeException e) {
      // The event loop was closed meanwhile.
      promise.tryFailure(e);
    }
  }

  private void open(
      InetSocketAddress target, EventLoop loop, LinkHandler handler, Promise<Channel> promise) {
    ChannelFuture connecting =
        new Bootstrap()
            .group(loop)
            .channel(NioSocketChannel.class)
            .option(ChannelOption.TCP_NODELAY, true)
            .option(ChannelOption.SO_KEEPALIVE, true)
            .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, config.connectTimeoutMillis())
            .option(
                ChannelOption.WRITE_BUFFER_WATER_MARK,
                new WriteBufferWaterMark(WRITE_LOW_BYTES, WRITE_HIGH_BYTES))
            .handler(
                new ChannelInitializer<>() {
                  @Override
                  protected void initChannel(Channel channel) {
                    channel
                        .pipeline()
                        .addLast(new FrameDecoder(config::maxFrameBytes))
                        .addLast(handler);
                  }
                })
            .connect(target);
    connecting.addListener(
        done -> {
          if (done.isSuccess()) {
            promise.setSuccess(connecting.channel());
          } else {
            promise.setFailure(done.cause());
          }
        });
  }

  void close() {
    resolver.shutdownNow();
  }
}
