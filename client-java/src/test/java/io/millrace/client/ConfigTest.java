package io.millrace.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.millrace.client.error.InvalidArgumentException;
import io.millrace.client.net.BrokerAddress;
import java.util.List;
import java.util.stream.Stream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Settings that cannot work are refused with the value and the limit. */
class ConfigTest {

  private static final ClientConfig CLIENT = ClientConfig.of("localhost:1");
  private static final ProducerConfig PRODUCER = new ProducerConfig();
  private static final ReaderConfig READER = new ReaderConfig();

  private static Arguments refused(ThrowingCallable call, String... texts) {
    return Arguments.of(call, List.of(texts));
  }

  static Stream<Arguments> badSettings() {
    return Stream.of(
        refused(() -> new ClientConfig(List.of()), "bootstrap", "host:port"),
        refused(() -> CLIENT.withClientId(" "), "clientId"),
        refused(() -> CLIENT.withRequestTimeoutMillis(0), "requestTimeoutMillis is 0", "1 or more"),
        refused(() -> CLIENT.withReconnectBackoffMaxMillis(10), "reconnectBackoffMaxMillis is 10"),
        refused(() -> CLIENT.withIoThreads(3), "ioThreads is 3", "1 to 2"),
        refused(() -> CLIENT.withMaxFrameBytes(5), "maxFrameBytes is 5"),
        refused(() -> PRODUCER.withMaxInFlightPerPartition(6), "is 6", "1 to 5"),
        refused(() -> PRODUCER.withBatchBytes(10), "batchBytes is 10", "256"),
        refused(() -> PRODUCER.withBufferBytes(100), "bufferBytes is 100", "131072"),
        refused(() -> PRODUCER.withLingerMillis(-1), "lingerMillis is -1"),
        refused(() -> PRODUCER.withCompression(null), "compression is null"),
        refused(() -> PRODUCER.withDeliveryTimeoutMillis(0), "deliveryTimeoutMillis is 0"),
        refused(() -> READER.withPrefetchRecords(0), "prefetchRecords is 0"),
        refused(() -> READER.withMaxPollRecords(2_000), "maxPollRecords is 2000", "1 to 1000"),
        refused(() -> READER.withMinBytes(1 << 30), "minBytes"),
        refused(() -> READER.withOnLost(null), "onLost is null"),
        refused(() -> new TopicPartition("a/b", 0), "a/b", "'/'"),
        refused(() -> new TopicPartition("a", -1), "partition is -1"),
        refused(() -> TopicSpec.of("x".repeat(250), 1, 1), "250", "249"),
        refused(() -> TopicSpec.of("..", 1, 1), "reserved"));
  }

  @ParameterizedTest
  @MethodSource("badSettings")
  void namesValueAndLimit(ThrowingCallable call, List<String> texts) {
    assertThatThrownBy(call)
        .isInstanceOf(InvalidArgumentException.class)
        .satisfies(e -> texts.forEach(text -> assertThat(e.getMessage()).contains(text)));
  }

  @Test
  void fewerPrefetchedRecordsLowerThoseOfAPoll() {
    assertThat(READER.withPrefetchRecords(10).maxPollRecords()).isEqualTo(10);
    assertThat(READER.withPrefetchRecords(10_000).maxPollRecords()).isEqualTo(500);
  }

  @ParameterizedTest
  @CsvSource({
    "localhost:19801, localhost, 19801",
    "10.0.0.1:1, 10.0.0.1, 1",
    "[::1]:65535, ::1, 65535"
  })
  void addressesAreParsed(String text, String host, int port) {
    assertThat(BrokerAddress.parse(text)).isEqualTo(new BrokerAddress(host, port));
    assertThat(BrokerAddress.parse(text)).hasToString(text);
  }

  @ParameterizedTest
  @CsvSource({
    "localhost",
    "localhost:",
    "localhost:x",
    "localhost:0",
    ":19801",
    "::1:19801",
    "a:70000"
  })
  void badAddressesAreRefusedByName(String text) {
    assertThatThrownBy(() -> ClientConfig.of(text))
        .isInstanceOf(InvalidArgumentException.class)
        .hasMessageContaining(text);
  }

  @ParameterizedTest
  @CsvSource({"localhost", ":19801"})
  void theAdviceNamesThePortOfALocalCluster(String text) {
    assertThatThrownBy(() -> ClientConfig.of(text))
        .hasMessageEndingWith("write for example localhost:19801");
  }
}
