package io.millrace.broker.api;

import io.millrace.broker.raft.transport.PeerTranscript;
import io.millrace.protocol.message.PeerChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/** A connection that remembers what handlers did to it. */
final class FakeConnection implements Connection {

  final List<Runnable> closeActions = new ArrayList<>();
  Role role = Role.NEW;
  int peerBrokerId;
  String clientName;
  Set<String> certificateNames;
  PeerTranscript challenge;

  @Override
  public String remote() {
    return "10.0.0.1:99";
  }

  @Override
  public Role role() {
    return role;
  }

  @Override
  public int peerBrokerId() {
    return peerBrokerId;
  }

  @Override
  public void acceptClient(String name) {
    role = Role.CLIENT;
    clientName = name;
  }

  @Override
  public Set<String> certificateNames() {
    return certificateNames;
  }

  @Override
  public void challengePeer(PeerTranscript newChallenge) {
    role = Role.CHALLENGED;
    challenge = newChallenge;
  }

  @Override
  public PeerTranscript takeChallenge() {
    PeerTranscript taken = challenge;
    challenge = null;
    return taken;
  }

  @Override
  public void acceptPeer(int brokerId, PeerChannel channel) {
    role = Role.PEER;
    peerBrokerId = brokerId;
  }

  @Override
  public Runnable onClose(Runnable action) {
    closeActions.add(action);
    return () -> closeActions.remove(action);
  }
}
