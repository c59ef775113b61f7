package io.millrace.client.net;

import io.netty.channel.Channel;
import io.netty.channel.EventLoop;
import io.netty.util.concurrent.Future;

/** Opens TCP connections. */
interface Connector {

  /** Completes on the event loop. */
  Future<Channel> connect(BrokerAddress address, EventLoop loop, LinkHandler handler);
}
