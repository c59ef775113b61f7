package io.millrace.broker.cluster;

import io.millrace.broker.cluster.message.MetadataCommand;
import io.millrace.broker.cluster.message.MetadataResult;
import io.millrace.broker.log.LogDamagedException;
import io.millrace.broker.raft.ProposalCallback;
import io.millrace.broker.raft.ProposalFailure;
import io.millrace.broker.raft.RaftGroup;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.error.MillraceException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;

/**
 * Brokers with a metadata group whose log is a list: the test elects, holds back commits, lets
 * brokers lag, cuts forwarding. Everything runs on the test's thread through a {@link
 * ManualScheduler}.
 */
final class FakeCluster {

  static final String CLUSTER_ID = "test-cluster";

  enum Link {
    UP,
    /** Requests certainly do not arrive. */
    DOWN,
    /** Requests are executed, the answer is lost with the connection. */
    LOSES_ANSWERS,
    /** Requests are executed, no answer ever comes. */
    SILENT
  }

  final ManualScheduler scheduler = new ManualScheduler();
  final TreeMap<Integer, Node> nodes = new TreeMap<>();
  final Set<Integer> unreachable = new HashSet<>();
  Link link = Link.UP;
  boolean holdCommits;
  boolean quorumContact = true;
  int forwards;
  private final List<Entry> log = new ArrayList<>();
  private int committed;
  private int leader;
  private long term;
  private int nextTopic = 1;

  private record Entry(long term, ByteBuffer batch, int proposer, ProposalCallback callback) {}

  final class Node implements RaftGroup {
    final LocalBroker self;
    final MetadataGroup group = new MetadataGroup();
    final LeaderDirectory leaders;
    final ClusterMetadata metadata;
    boolean lagging;
    int applied;

    Node(int id) {
      self = new LocalBroker(CLUSTER_ID, id, incarnation(id));
      leaders = new LeaderDirectory(id);
      group.attach(this);
      metadata =
          new ClusterMetadata(
              self,
              group,
              leaders,
              b -> nodes.containsKey(b) && !unreachable.contains(b),
              FakeCluster.this::forward,
              scheduler,
              () -> new UUID(7, nextTopic++));
    }

    void catchUp() {
      boolean any = false;
      while (applied < committed) {
        Entry entry = log.get(applied++);
        ProposalCallback local = entry.proposer() == self.id() ? entry.callback() : null;
        group.apply(applied, entry.term(), entry.batch().asReadOnlyBuffer(), local);
        any = true;
      }
      if (any) {
        group.applyBatchEnd(applied);
      }
    }

    BrokerEntry entry() {
      return new BrokerEntry(self.id(), self.incarnation(), "host" + self.id(), 9000, "1", 1);
    }

    @Override
    public String name() {
      return MetadataGroup.NAME;
    }

    @Override
    public boolean isLeader() {
      return leader == self.id();
    }

    @Override
    public long term() {
      return term;
    }

    @Override
    public int leader() {
      return leader;
    }

    @Override
    public boolean hasQuorumContact() {
      return isLeader() && quorumContact;
    }

    @Override
    public void propose(ByteBuffer batch, long expectedTerm, ProposalCallback callback) {
      if (!isLeader() || expectedTerm != term) {
        callback.failed(new ProposalFailure(true, "not leader in term " + expectedTerm));
        return;
      }
      log.add(new Entry(term, batch, self.id(), callback));
      scheduler.schedule(1, FakeCluster.this::commit);
    }

    @Override
    public long appliedIndex() {
      return applied;
    }

    @Override
    public void damaged(LogDamagedException damage) {
      throw new AssertionError(damage);
    }

    @Override
    public boolean transferLeadership(int toBrokerId) {
      return false;
    }
  }

  FakeCluster(int brokers) {
    for (int id = 1; id <= brokers; id++) {
      nodes.put(id, new Node(id));
    }
  }

  /** With a leader and all brokers registered. */
  static FakeCluster started(int brokers) {
    FakeCluster cluster = new FakeCluster(brokers);
    cluster.elect(1);
    for (Node node : cluster.nodes.values()) {
      cluster.join(node.metadata.submit(MetadataCommands.registerBroker(node.entry()), 1000));
    }
    return cluster;
  }

  static UUID incarnation(int broker) {
    return new UUID(1, broker);
  }

  Node node(int id) {
    return nodes.get(id);
  }

  /** Commits what was proposed and lets all brokers that do not lag apply it. */
  void commit() {
    if (holdCommits) {
      return;
    }
    committed = log.size();
    nodes.values().stream().filter(node -> !node.lagging).forEach(Node::catchUp);
  }

  /** 0 = nobody leads. What is not committed stays in the log and is decided by the next commit. */
  void elect(int id) {
    if (leader != 0) {
      Node old = node(leader);
      leader = 0;
      old.group.leaderStopped(false);
    }
    term++;
    leader = id;
    nodes.values().forEach(node -> node.group.leaderChanged(id, term));
    if (id != 0) {
      node(id).catchUp();
      node(id).group.leaderStarted(term);
    }
  }

  /** Proposals that are not committed fail; either they are cut from the log or stay in it. */
  void failProposals(boolean cut) {
    List<Entry> open = new ArrayList<>(log.subList(committed, log.size()));
    for (int i = 0; i < open.size(); i++) {
      Entry entry = open.get(i);
      log.set(committed + i, new Entry(entry.term(), entry.batch(), 0, null));
      entry.callback().failed(new ProposalFailure(false, "leader stepped down"));
    }
    if (cut) {
      log.subList(committed, log.size()).clear();
    }
  }

  private CompletableFuture<MetadataResult> forward(
      int leaderId, MetadataCommand command, long timeoutMillis) {
    forwards++;
    if (link == Link.DOWN) {
      return CompletableFuture.failedFuture(
          new MillraceException(ErrorCode.UNREACHABLE, "no connection to broker " + leaderId));
    }
    CompletableFuture<MetadataResult> answer =
        node(leaderId).metadata.submitForwarded(command, timeoutMillis);
    return switch (link) {
      case LOSES_ANSWERS ->
          CompletableFuture.failedFuture(
              new MillraceException(ErrorCode.DISCONNECTED, "connection lost"));
      case SILENT -> new CompletableFuture<>();
      case UP, DOWN -> answer;
    };
  }

  /** Turns the clock until the future is complete. */
  <T> T join(CompletableFuture<T> future) {
    for (int i = 0; i < 100_000 && !future.isDone(); i++) {
      scheduler.advance(1);
    }
    if (!future.isDone()) {
      throw new AssertionError("not complete after 100 s of simulated time");
    }
    return future.join();
  }

  /** Every partition of a topic is led by its preferred broker, known everywhere. */
  void leadAll(TopicEntry topic) {
    for (int p = 0; p < topic.partitions().size(); p++) {
      lead(topic, p, topic.partitions().get(p).replicas().get(0).broker(), 1);
    }
  }

  void lead(TopicEntry topic, int partition, int broker, long term) {
    node(broker).leaders.localStarted(topic.id(), partition, term);
    nodes.values().forEach(node -> node.leaders.announced(node(broker).leaders.localLeaders()));
  }

  int committed() {
    return committed;
  }
}
