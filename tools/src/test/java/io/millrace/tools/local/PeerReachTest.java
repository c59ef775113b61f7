package io.millrace.tools.local;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.protocol.message.BrokerStatusResponse;
import java.util.Arrays;
import java.util.Map;
import org.junit.jupiter.api.Test;

class PeerReachTest {
  private static BrokerStatusResponse unreached(Integer... peers) {
    return BrokerStatusResponse.newBuilder().addAllUnreachedPeers(Arrays.asList(peers)).build();
  }

  @Test
  void allAreReached() {
    var reach = new PeerReach(Map.of(1, unreached(), 2, unreached(), 3, unreached()));

    for (int broker = 1; broker <= 3; broker++) {
      assertThat(reach.trouble(broker)).isEmpty();
    }
  }

  @Test
  void aBrokerThatIsCutOffIsNamedAndNotThoseThatItDoesNotReach() {
    var reach = new PeerReach(Map.of(1, unreached(3), 2, unreached(3), 3, unreached(1, 2)));

    assertThat(reach.trouble(1)).isEmpty();
    assertThat(reach.trouble(2)).isEmpty();
    assertThat(reach.trouble(3)).contains("brokers 1 and 2 do not reach it");
  }

  @Test
  void oneThatDoesNotAnswerSaysNothing() {
    var reach = new PeerReach(Map.of(1, unreached(3), 2, unreached(3)));

    assertThat(reach.trouble(1)).isEmpty();
    assertThat(reach.trouble(3)).contains("brokers 1 and 2 do not reach it");
  }

  @Test
  void oneDirectionIsToldAtTheBrokerThatIsNotHeard() {
    var reach = new PeerReach(Map.of(1, unreached(), 2, unreached(), 3, unreached(1)));

    assertThat(reach.trouble(1)).contains("broker 3 does not reach it");
    assertThat(reach.trouble(3)).isEmpty();
  }

  @Test
  void ofTwoOrOfTwoSidesBothAreTold() {
    var two = new PeerReach(Map.of(1, unreached(2, 3), 2, unreached(1, 3)));
    assertThat(two.trouble(1)).contains("broker 2 does not reach it");
    assertThat(two.trouble(2)).contains("broker 1 does not reach it");

    BrokerStatusResponse left = unreached(3, 4, 5);
    BrokerStatusResponse right = unreached(1, 2);
    var split = new PeerReach(Map.of(1, left, 2, left, 3, right, 4, right, 5, right));
    assertThat(split.trouble(1)).contains("brokers 3, 4 and 5 do not reach it");
    assertThat(split.trouble(5)).contains("brokers 1 and 2 do not reach it");
  }

  @Test
  void whenNobodyReachesAnybodyAllAreTold() {
    var reach = new PeerReach(Map.of(1, unreached(2, 3), 2, unreached(1, 3), 3, unreached(1, 2)));

    assertThat(reach.trouble(2)).contains("brokers 1 and 3 do not reach it");
  }
}
