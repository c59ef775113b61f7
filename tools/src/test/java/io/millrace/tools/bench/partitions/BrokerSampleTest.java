package io.millrace.tools.bench.partitions;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.protocol.message.BrokerStatusResponse;
import io.millrace.protocol.message.Gauge;
import java.util.Map;
import org.junit.jupiter.api.Test;

class BrokerSampleTest {
  private static BrokerStatusResponse status(
      long uptimeMillis, long raft, long statuses, long in, long out) {
    return BrokerStatusResponse.newBuilder()
        .setUptimeMillis(uptimeMillis)
        .addGauges(gauge("net.requests.RAFT", raft))
        .addGauges(gauge("net.requests.BROKER_STATUS", statuses))
        .addGauges(gauge("net.requests.FETCH", 3))
        .addGauges(gauge("net.bytes.in", in))
        .addGauges(gauge("net.bytes.out", out))
        .addGauges(gauge("jvm.heap.bytes", 5_000_000))
        .build();
  }

  private static Gauge gauge(String name, long used) {
    return Gauge.newBuilder().setName(name).setUsed(used).build();
  }

  private static ProcessSample process(long nanos, long ticks, long written) {
    return new ProcessSample(nanos, ticks, 1 << 20, 40, written, Map.of());
  }

  @Test
  void ratesAreOfTheTimeBetweenTheAnswersAndOurOwnQuestionsAreNotCounted() {
    BrokerStatusResponse first = status(7_000, 100, 1, 1_000, 2_000);
    BrokerSample then = BrokerSample.of(process(0, 0, 4_096), first);
    BrokerSample now =
        BrokerSample.of(
            process(10_000_000_000L, 100, 12_288),
            status(27_000, 400, 2, 6_000, 2_000 + first.getSerializedSize() + 500));

    BrokerSample.Usage usage = now.since(then);

    assertThat(usage.seconds()).isEqualTo(10.0);
    assertThat(usage.cpuPercent()).isEqualTo(10.0);
    assertThat(usage.kindsPerSecond()).isEqualTo(Map.of("RAFT", 15.0));
    assertThat(usage.requestsPerSecond()).isEqualTo(15.0);
    assertThat(usage.bytesInPerSecond()).isEqualTo(250.0);
    assertThat(usage.bytesOutPerSecond()).isEqualTo(25.0);
    assertThat(usage.diskWriteBytes()).isEqualTo(8_192);
    assertThat(usage.heapBytes()).isEqualTo(5_000_000);
  }
}
