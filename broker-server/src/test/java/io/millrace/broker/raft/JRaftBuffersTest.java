package io.millrace.broker.raft;

import static org.assertj.core.api.Assertions.assertThat;

import com.alipay.sofa.jraft.util.ByteBufferCollector;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

class JRaftBuffersTest {

  /** JRaft's cache has no limit for what comes back on another thread than the one that took it. */
  @Test
  void buffersOfEntriesAreNotKept() {
    JRaftRuntime.ensureStarted();
    ByteBufferCollector buffer = ByteBufferCollector.allocateByRecyclers(1 << 20);
    assertThat(buffer.capacity()).isGreaterThanOrEqualTo(1 << 20);
    assertThat(CompletableFuture.supplyAsync(buffer::recycle).join()).as("kept").isFalse();
  }
}
