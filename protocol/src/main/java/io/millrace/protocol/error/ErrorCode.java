package io.millrace.protocol.error;

import static io.millrace.protocol.error.Outcome.DONE;
import static io.millrace.protocol.error.Outcome.NOT_DONE;
import static io.millrace.protocol.error.Outcome.UNKNOWN;

import io.millrace.protocol.message.ErrorInfo;

/**
 * Every error that Millrace reports: number on the wire, outcome class, whether the same request
 * can succeed later without a change, and what to do about it.
 *
 * <p>Numbers below 1000 travel on the wire; numbers from 1000 are made by the client and never
 * sent. Numbers are never reused and never change their outcome: a client of an older version
 * decides by the number alone. The table in {@code docs/inside/protocol.md} is the same list.
 */
public enum ErrorCode {
  NONE(0, DONE, false, "Nothing to do."),
  SERVER_ERROR(
      1,
      UNKNOWN,
      false,
      "A fault inside the broker: look for the same text in its log, and read back before sending"
          + " again."),
  CORRUPT_BATCH(
      2,
      NOT_DONE,
      false,
      "The checksum of the batch does not match its bytes: check the memory, network or proxy"
          + " between client and broker."),
  UNKNOWN_TOPIC(
      3, NOT_DONE, false, "Check the name with `topic list`; create it with `topic create`."),
  UNKNOWN_PARTITION(4, NOT_DONE, false, "Use a partition below the count that the topic has."),
  RECORD_TOO_LARGE(
      5,
      NOT_DONE,
      false,
      "Send smaller records or batches, or raise the topic's max record bytes."),
  NOT_LEADER(6, NOT_DONE, true, "Send to the leader named in the answer, or ask for metadata."),
  NOT_READY(
      7,
      NOT_DONE,
      true,
      "The replica is starting, has no leader, or is behind: try again after a moment."),
  THROTTLED(8, NOT_DONE, true, "Wait for the stated time, then send again."),
  REQUEST_TIMEOUT(
      9,
      UNKNOWN,
      true,
      "No majority answered in time: check that most replicas are up; retry with the same"
          + " sequence."),
  OUTCOME_UNKNOWN(
      10,
      UNKNOWN,
      true,
      "Leadership changed while the batch was in flight: retry with the same sequence."),
  OUT_OF_ORDER_SEQUENCE(
      11,
      NOT_DONE,
      true,
      "An earlier batch of this producer is missing: send the batches again in sequence order."),
  SEQUENCE_BELOW_WINDOW(
      12,
      UNKNOWN,
      false,
      "The batch is older than the last five that the partition remembers: read back to learn"
          + " whether it is there."),
  UNKNOWN_PRODUCER(
      13,
      NOT_DONE,
      false,
      "The partition does not know this producer: start at sequence 0, or resume with nothing"
          + " else unresolved."),
  PRODUCER_FENCED(
      14,
      NOT_DONE,
      false,
      "A newer epoch of this producer id is active: close this producer; ask for a new id to go"
          + " on."),
  UNSUPPORTED_MAGIC(15, NOT_DONE, false, "Send batches of magic 2 (Kafka's v2 format)."),
  INVALID_BATCH(
      16,
      NOT_DONE,
      false,
      "The batch breaks a rule named in the text: fix the client that built it."),
  UNKNOWN_API(
      17, NOT_DONE, false, "The broker does not know this request: upgrade it, or use less."),
  UNSUPPORTED_VERSION(
      18, NOT_DONE, false, "Use a protocol version in the range that the text names."),
  MALFORMED_REQUEST(
      19, NOT_DONE, false, "The bytes are no Millrace request: check address, port and client."),
  FRAME_TOO_LARGE(20, NOT_DONE, false, "Send smaller requests, or raise the broker's frame limit."),
  OFFSET_OUT_OF_RANGE(
      21,
      NOT_DONE,
      false,
      "Seek between log start and readable end; below the log start the text says how many"
          + " records are gone."),
  LOG_TRUNCATED(
      22,
      NOT_DONE,
      false,
      "Records read earlier are no longer in the log: seek to the start of the range in the"
          + " answer."),
  TOPIC_EXISTS(23, NOT_DONE, false, "Choose another name, or use the topic that is there."),
  INVALID_TOPIC_NAME(
      24, NOT_DONE, false, "Use 1 to 249 characters out of letters, digits, '.', '_' and '-'."),
  INVALID_SETTING(25, NOT_DONE, false, "Set a value inside the range that the text names."),
  IN_PROGRESS(
      26,
      UNKNOWN,
      false,
      "The change is recorded but not complete everywhere: ask again with `topic describe`."),
  NO_METADATA_LEADER(
      27, NOT_DONE, true, "Check with `cluster status` that most metadata voters are up; retry."),
  DISK_FULL(
      28, NOT_DONE, true, "Free space or add a disk at the named broker; reads go on meanwhile."),
  STORAGE_ERROR(
      29,
      NOT_DONE,
      true,
      "The replica's disk failed and it stopped: see its reason in `broker status`; retry after"
          + " another replica leads."),
  CLUSTER_MISMATCH(
      30, NOT_DONE, false, "This broker belongs to another cluster: correct the address."),
  INCARNATION_MISMATCH(
      31,
      NOT_DONE,
      false,
      "The broker's data directory is not the one the cluster knows: restore it, or replace the"
          + " broker."),
  NOT_ENOUGH_BROKERS(
      32, NOT_DONE, false, "Start more brokers, or ask for at most as many replicas as there are."),
  STALE_TERM(
      33,
      NOT_DONE,
      true,
      "The request names an older leadership term: refresh the metadata, retry."),
  SHUTTING_DOWN(34, NOT_DONE, true, "The broker is stopping: send to the next leader."),
  UNAUTHENTICATED(35, NOT_DONE, false, "Say HELLO first, with valid credentials."),
  REFUSED(36, NOT_DONE, false, "The request is not allowed in this state; the text says why."),

  BUFFER_FULL(
      1000,
      NOT_DONE,
      true,
      "The producer's memory is used up: send slower, block with sendBlocking, or raise"
          + " bufferBytes."),
  NOT_SENT_IN_TIME(
      1001,
      NOT_DONE,
      false,
      "No leader took the batch within the delivery timeout and it is certainly not stored: check"
          + " the cluster, send again."),
  DELIVERY_TIMEOUT(
      1002,
      UNKNOWN,
      false,
      "The batch was sent but no answer came within the delivery timeout: read back before"
          + " sending again."),
  CLIENT_CLOSED(1003, NOT_DONE, false, "Do not use a client after close."),
  UNREACHABLE(
      1004, NOT_DONE, true, "No connection: check the address and that the broker is running."),
  DISCONNECTED(
      1005, UNKNOWN, true, "The connection broke before the answer: retry with the same sequence."),
  INTERRUPTED(
      1006,
      UNKNOWN,
      false,
      "The thread was interrupted while it waited; the request may still complete."),
  INVALID_ARGUMENT(1007, NOT_DONE, false, "Correct the argument that the text names."),
  UNREADABLE_BATCH(
      1008,
      NOT_DONE,
      false,
      "The batch cannot be decoded within the limits: raise the decompression limit, or seek past"
          + " it.");

  private static final ErrorCode[] WIRE = new ErrorCode[64];

  static {
    for (ErrorCode code : values()) {
      if (code.number < WIRE.length) {
        WIRE[code.number] = code;
      }
    }
  }

  private final int number;
  private final Outcome outcome;
  private final boolean retriable;
  private final String advice;

  ErrorCode(int number, Outcome outcome, boolean retriable, String advice) {
    this.number = number;
    this.outcome = outcome;
    this.retriable = retriable;
    this.advice = advice;
  }

  public int number() {
    return number;
  }

  public Outcome outcome() {
    return outcome;
  }

  /** Whether the unchanged request can succeed later, at this or another broker. */
  public boolean retriable() {
    return retriable;
  }

  /** One sentence for people: what to do. */
  public String advice() {
    return advice;
  }

  /**
   * The code of a number from the wire. An unknown number is {@link #SERVER_ERROR}, whose outcome
   * is unknown: the only safe reading of an error that a newer broker invented.
   */
  public static ErrorCode of(int number) {
    if (number >= 0 && number < WIRE.length) {
      ErrorCode code = WIRE[number];
      return code == null ? SERVER_ERROR : code;
    }
    for (ErrorCode code : values()) {
      if (code.number == number) {
        return code;
      }
    }
    return SERVER_ERROR;
  }

  /** This error as a wire message; {@code text} names the value, the limit and what to do. */
  public ErrorInfo toInfo(String text) {
    return ErrorInfo.newBuilder().setCode(number).setText(text == null ? "" : text).build();
  }
}
