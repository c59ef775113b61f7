package io.millrace.broker;

import java.util.Arrays;
import java.util.Comparator;
import java.util.Optional;

/** Every key of a broker's configuration file, with one paragraph each. */
public enum ConfigKey {
  BROKER_ID(
      "broker.id", true, "Number of this broker in its cluster, 1..65535; never used by another."),
  CLUSTER_ID(
      "cluster.id",
      false,
      "The cluster that the data directory must belong to; unset takes the directory's."),
  LISTEN(
      "listen", true, "host:port to bind, for clients and other brokers; port 0 takes a free one."),
  ADVERTISED(
      "advertised",
      false,
      "host:port under which others reach this broker. Needed when listen is a wildcard; else it"
          + " defaults to listen."),
  DATA_DIR("data.dir", true, "The one directory of this broker, made by format."),
  CLUSTER_BROKERS(
      "cluster.brokers",
      true,
      "id@host:port of the initial brokers, separated by commas. Used to find the others; who may"
          + " vote was fixed when the directory was formatted."),
  CLUSTER_SECRET_FILE(
      "cluster.secret.file",
      false,
      "File with the secret that the brokers of the cluster share and prove to each other; the same"
          + " on all of them, readable by its owner only. Made by cluster up, or by the first broker"
          + " format. Needed unless the broker is its whole cluster."),
  PEER_TLS_CERTIFICATE(
      "peer.tls.certificate",
      false,
      "PEM file with the certificate of this broker, which names it as broker-N, and those"
          + " between it and a trusted one. With peer.tls.key and peer.tls.trust it turns on TLS"
          + " between brokers, who then refuse each other without it. Clients go on in plain text."),
  PEER_TLS_KEY(
      "peer.tls.key",
      false,
      "PEM file with the private key of that certificate: PKCS #8, not encrypted, readable by its"
          + " owner only."),
  PEER_TLS_TRUST(
      "peer.tls.trust", false, "PEM file with the certificates of those who sign for the brokers."),
  NETWORK_CLIENT_THREADS(
      "network.client.threads",
      false,
      "Event loops of client connections; default one per processor, 2..16."),
  NETWORK_PEER_THREADS(
      "network.peer.threads",
      false,
      "Event loops of connections from other brokers, and as many of those to them; default 2."),
  MAX_FRAME_BYTES(
      "max.frame.bytes", false, "Largest frame that is read from a socket; default 20 MiB."),
  MAX_CONNECTIONS("max.connections", false, "Client connections at a time; default 1000."),
  NETWORK_IN_BYTES(
      "network.in.bytes",
      false,
      "Budget of frames being received, over all clients, and as much again over all brokers."
          + " Beyond it sockets are not read. Default an eighth of the heap, at least two frames."),
  NETWORK_OUT_BYTES(
      "network.out.bytes",
      false,
      "Budget of responses that sockets have not taken. Beyond it a connection is not read before"
          + " it has taken its responses. Default an eighth of the heap, at least 16 MiB."),
  FETCH_RESPONSE_BYTES(
      "fetch.response.bytes",
      false,
      "Budget of record batches in answers to fetches that are not sent. Beyond it fetches are"
          + " THROTTLED. The batches leave as file regions and take no heap. Default a quarter of"
          + " the heap, at least 64 MiB."),
  APPEND_INFLIGHT_BYTES(
      "append.inflight.bytes",
      false,
      "Budget of batches accepted and not yet replicated, over all partitions. Beyond it produce"
          + " is THROTTLED. Default an eighth of the heap, at least two frames."),
  CONNECTION_OUT_BYTES(
      "connection.out.bytes", false, "As network.out.bytes, for one connection; default 4 MiB."),
  CONNECTION_REQUESTS(
      "connection.requests",
      false,
      "Unanswered requests of one connection; beyond it the socket is not read. Default 256."),
  HANDSHAKE_TIMEOUT_MILLIS(
      "handshake.timeout.millis",
      false,
      "A connection that has not said HELLO, or PEER_HELLO and PEER_PROOF, is closed after so long;"
          + " default 10000."),
  STALL_TIMEOUT_MILLIS(
      "stall.timeout.millis",
      false,
      "A connection with half a frame, or with a response that it does not take, is closed after"
          + " so long without progress; default 30000."),
  RAFT_ELECTION_TIMEOUT_MILLIS(
      "raft.election.timeout.millis",
      false,
      "Silence of a leader after which its followers elect another; default 2000. Heartbeats are"
          + " sent at a fifth of it. A leader whose broker is gone or silent is replaced sooner,"
          + " whatever this says."),
  CHECKPOINT_BYTES(
      "checkpoint.bytes",
      false,
      "A replica writes a checkpoint after so many bytes of log; default 64 MiB. Start-up reads at"
          + " most about so much of each partition."),
  CHECKPOINT_INTERVAL_MILLIS(
      "checkpoint.interval.millis", false, "... or after so long with new entries; default 60000."),
  RETENTION_CHECK_INTERVAL_MILLIS(
      "retention.check.interval.millis",
      false,
      "How often a broker looks for records that are past their topic's limits, and for files below"
          + " the log start; default 1000. A record can stay so much longer than its topic says."),
  SEGMENT_DELETE_DELAY_MILLIS(
      "segment.delete.delay.millis",
      false,
      "How long files wait to be deleted when all their records are gone; default 60000. Of a topic"
          + " with retention bytes no more than a twentieth of that waits, but for a tenth of a second."),
  DISK_LOW_BYTES(
      "disk.low.bytes",
      false,
      "Below so much free space on the disk of data.dir no records and no new topics are taken;"
          + " below a quarter of it only what makes room. Default a tenth of the disk, at most"
          + " 1 GiB."),
  REFILL_BYTES_PER_SECOND(
      "refill.bytes.per.second",
      false,
      "What this broker reads, checks and copies per second to complete the logs of replicas that"
          + " may have lost entries; default 100 MiB."),
  SCRUB_BYTES_PER_SECOND(
      "scrub.bytes.per.second",
      false,
      "What this broker reads per second to find damage in logs that nobody reads; 0 = it does not"
          + " look. Default 4 MiB."),
  SCRUB_INTERVAL_MILLIS(
      "scrub.interval.millis",
      false,
      "Pause before each pass through all logs; default 21600000 (6 hours)."),
  FAULTS_ALLOWED(
      "faults.allowed",
      false,
      "true or false: whether a client may command faults in the network between this broker and"
          + " the others, as millrace cluster isolate, split, one-way and slow do. For tests and"
          + " for learning only: whoever reaches the broker can then cut it off. Default false.");

  private final String key;
  private final boolean required;
  private final String text;

  ConfigKey(String key, boolean required, String text) {
    this.key = key;
    this.required = required;
    this.text = text;
  }

  /** The name in the file. */
  public String key() {
    return key;
  }

  public boolean required() {
    return required;
  }

  /** What it does, for the reference and for error texts. */
  public String text() {
    return text;
  }

  /** The key of that name. */
  public static Optional<ConfigKey> find(String name) {
    return Arrays.stream(values()).filter(k -> k.key.equals(name)).findFirst();
  }

  /** The known key that a mistyped one most likely meant. */
  public static ConfigKey nearest(String name) {
    return Arrays.stream(values())
        .min(Comparator.comparingInt(k -> editDistance(name, k.key)))
        .orElseThrow();
  }

  /** Levenshtein distance, two rows. */
  static int editDistance(String a, String b) {
    int[] previous = new int[b.length() + 1];
    int[] current = new int[b.length() + 1];
    for (int j = 0; j <= b.length(); j++) {
      previous[j] = j;
    }
    for (int i = 1; i <= a.length(); i++) {
      current[0] = i;
      for (int j = 1; j <= b.length(); j++) {
        int substitute = previous[j - 1] + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
        current[j] = Math.min(substitute, Math.min(previous[j], current[j - 1]) + 1);
      }
      int[] swap = previous;
      previous = current;
      current = swap;
    }
    return previous[b.length()];
  }
}
