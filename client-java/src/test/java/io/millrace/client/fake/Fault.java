package io.millrace.client.fake;

import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.message.ErrorInfo;

/** What a broker does with one request instead of answering it. */
public sealed interface Fault {

  /** Nothing wrong. */
  record None() implements Fault {}

  /** Answers the whole request with this error; nothing is applied. */
  record Refuse(ErrorInfo error, int throttleMillis) implements Fault {}

  /** Answers each batch or partition with this error; nothing is applied. */
  record RefuseEach(ErrorInfo error, int throttleMillis) implements Fault {}

  /** Applies and then answers each batch with this error. */
  record ApplyAndSay(ErrorInfo error) implements Fault {}

  /** Closes the connection; applied before if so stated. */
  record Drop(boolean afterApply) implements Fault {}

  /** Never answers; applied if so stated. */
  record Silence(boolean apply) implements Fault {}

  /** Applies and answers after that time. */
  record Delay(long millis, boolean applyLate) implements Fault {}

  Fault NONE = new None();

  static Fault refuse(ErrorCode code) {
    return new Refuse(code.toInfo("scripted"), 0);
  }

  static Fault refuseEach(ErrorCode code) {
    return new RefuseEach(code.toInfo("scripted"), 0);
  }
}
