package io.millrace.client.producer;

import static org.assertj.core.api.Assertions.assertThat;

import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;
import org.apache.kafka.common.utils.Utils;

class Murmur2Properties {

  @Property(tries = 2_000)
  void isKafkasHash(@ForAll @Size(max = 70) byte[] key) {
    assertThat(Murmur2.hash(key)).isEqualTo(Utils.murmur2(key));
  }

  @Property(tries = 1_000)
  void choosesKafkasPartition(
      @ForAll @Size(max = 40) byte[] key, @ForAll @IntRange(min = 1, max = 1_000) int partitions) {
    assertThat(Murmur2.partition(key, partitions))
        .isEqualTo(Utils.toPositive(Utils.murmur2(key)) % partitions);
  }
}
