package io.millrace.broker;

import io.millrace.broker.cluster.BrokerEntry;
import io.millrace.broker.log.Disk;
import io.millrace.broker.raft.transport.PeerNetwork;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Collection;
import java.util.Map;
import java.util.TreeMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Which data directory each broker of the cluster has, as the metadata group committed it; kept in
 * a file, because a broker must know it before it has heard a metadata leader again.
 *
 * <p>Why: a broker whose directory was wiped has forgotten its votes and its entries. Were it
 * talked to under its old id, it could elect a leader without acknowledged records. It has another
 * incarnation now, so neither side accepts the connection.
 *
 * <p>Threads: any. Durability: {@link #learn} returns after the file is replaced and fsynced.
 */
final class KnownPeers implements PeerNetwork.PeerCheck {

  static final String FILE = "peers";
  private static final int FORMAT = 1;
  private static final Logger LOG = LoggerFactory.getLogger(KnownPeers.class);

  private final CheckedTextFile file;
  private final Map<String, String> incarnations = new TreeMap<>();

  private KnownPeers(CheckedTextFile file) {
    this.file = file;
  }

  static KnownPeers open(Disk disk, Path raftDirectory) throws IOException {
    KnownPeers peers =
        new KnownPeers(new CheckedTextFile(disk, raftDirectory.resolve(FILE), FORMAT));
    if (peers.file.exists()) {
      peers.incarnations.putAll(peers.file.read());
    }
    return peers;
  }

  @Override
  public synchronized String refusal(int brokerId, String incarnation) {
    String known = incarnations.get(Integer.toString(brokerId));
    if (known == null || known.equals(incarnation)) {
      return null;
    }
    return "broker "
        + brokerId
        + " has data directory "
        + incarnation
        + ", the cluster knows it with "
        + known
        + ": its directory was lost or changed. Restore it, or give the broker another id";
  }

  /** Takes the committed registry; writes only news. */
  synchronized void learn(Collection<BrokerEntry> registered) {
    boolean news = false;
    for (BrokerEntry broker : registered) {
      String incarnation = broker.incarnation().toString();
      news |= !incarnation.equals(incarnations.put(Integer.toString(broker.id()), incarnation));
    }
    if (news) {
      try {
        file.write(incarnations);
      } catch (IOException e) {
        // Still known in memory; the next news writes all of it again.
        LOG.error("the list of known brokers cannot be stored", e);
      }
    }
  }
}
