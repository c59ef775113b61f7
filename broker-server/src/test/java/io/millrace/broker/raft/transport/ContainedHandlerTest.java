package io.millrace.broker.raft.transport;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.millrace.protocol.frame.Frame;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.RejectedExecutionException;
import org.junit.jupiter.api.Test;

class ContainedHandlerTest {
  private static final PeerRequestException LOST = PeerRequestException.lost("lost");

  /** Throws what it is told, after it has noted the call. */
  private static final class Throwing implements PeerNetwork.ResponseHandler {
    final List<String> calls = new ArrayList<>();
    Throwable thrown;

    @Override
    public void onResponse(Frame frame) {
      called("response");
    }

    @Override
    public void onFailure(PeerRequestException failure) {
      called(failure.getMessage());
    }

    private void called(String what) {
      calls.add(what);
      if (thrown instanceof Error error) {
        throw error;
      }
      if (thrown instanceof RuntimeException exception) {
        throw exception;
      }
    }
  }

  private final Throwing handler = new Throwing();
  private final ContainedHandler contained = new ContainedHandler(2, handler);

  @Test
  void passesCallsOn() {
    contained.onResponse(null);
    contained.onFailure(LOST);

    assertThat(handler.calls).containsExactly("response", "lost");
  }

  @Test
  void anAskerThatHasStoppedDoesNoHarm() {
    handler.thrown = new RejectedExecutionException("shut down");

    assertThatCode(() -> contained.onResponse(null)).doesNotThrowAnyException();
    assertThatCode(() -> contained.onFailure(LOST)).doesNotThrowAnyException();
  }

  @Test
  void aFaultOfAHandlerStaysItsOwn() {
    handler.thrown = new IllegalStateException("a fault");

    assertThatCode(() -> contained.onResponse(null)).doesNotThrowAnyException();
    assertThatCode(() -> contained.onFailure(LOST)).doesNotThrowAnyException();
  }

  @Test
  void errorsOfTheJvmGoOn() {
    handler.thrown = new OutOfMemoryError("as told");

    assertThatThrownBy(() -> contained.onResponse(null)).isInstanceOf(OutOfMemoryError.class);
  }
}
