package io.millrace.broker;
final class BrokerApi { BrokerApi(Broker b) {} java.util.List<io.millrace.broker.api.RequestHandler> handlers() { return java.util.List.of(); }
 io.millrace.broker.partition.FetchCoordinator newFetchCoordinator(io.netty.util.HashedWheelTimer t, LocalPartitions p, BrokerConfig c) { return null; } }
