package io.millrace.client.error;

import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.error.MillraceException;

/**
 * The delivery timeout passed. Code NOT_SENT_IN_TIME: no attempt can have stored the record, it may
 * be sent again. Code DELIVERY_TIMEOUT: an attempt ended without an answer; the record is stored
 * once, before every later record of this producer in its partition, or never.
 */
public final class DeliveryTimeoutException extends MillraceException {

  private static final long serialVersionUID = 1L;

  public DeliveryTimeoutException(boolean maybeStored, String text) {
    super(maybeStored ? ErrorCode.DELIVERY_TIMEOUT : ErrorCode.NOT_SENT_IN_TIME, text);
  }
}
