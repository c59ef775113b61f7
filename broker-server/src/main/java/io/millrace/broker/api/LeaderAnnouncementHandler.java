package io.millrace.broker.api;

import io.millrace.broker.cluster.LeaderDirectory;
import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.frame.ApiKind;
import io.millrace.protocol.message.LeaderAnnouncement;
import io.millrace.protocol.message.LeaderAnnouncementResponse;

/** Learns from another broker what it leads; a broker can only speak for itself. */
public final class LeaderAnnouncementHandler implements RequestHandler {

  private final LeaderDirectory leaders;

  public LeaderAnnouncementHandler(LeaderDirectory leaders) {
    this.leaders = leaders;
  }

  @Override
  public ApiKind kind() {
    return ApiKind.LEADER_ANNOUNCEMENT;
  }

  @Override
  public void handle(RequestContext request, Responder responder) {
    LeaderAnnouncement announcement = request.header(LeaderAnnouncement.parser());
    int sender = request.connection().peerBrokerId();
    if (announcement.getBrokerId() != sender) {
      throw new RequestRefusedException(
          ErrorCode.REFUSED,
          "broker " + sender + " announces leaders of broker " + announcement.getBrokerId());
    }
    leaders.announced(announcement);
    responder.respond(LeaderAnnouncementResponse.getDefaultInstance());
  }
}
