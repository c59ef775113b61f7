package io.millrace.protocol.batch;

import com.google.protobuf.ByteString;

/**
 * Content of a control batch.
 *
 * @param version of the key; this version writes 0
 * @param code the type's number, known or not
 * @param value the payload, a protobuf message of the type
 */
public record ControlRecord(short version, short code, ByteString value) {

  /** Null when this version does not know the code. */
  public ControlType type() {
    return ControlType.of(code);
  }
}
