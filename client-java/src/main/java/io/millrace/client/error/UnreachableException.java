package io.millrace.client.error;

import io.millrace.protocol.error.ErrorCode;
import io.millrace.protocol.error.MillraceException;
import java.util.Map;
import java.util.TreeMap;

/** No broker could be asked. Names every address tried and why it failed. */
public final class UnreachableException extends MillraceException {

  private static final long serialVersionUID = 1L;

  private final TreeMap<String, String> reasons;

  public UnreachableException(String what, Map<String, String> reasons) {
    super(ErrorCode.UNREACHABLE, text(what, reasons));
    this.reasons = new TreeMap<>(reasons);
  }

  /** Address to the reason of its last failure. */
  public Map<String, String> reasons() {
    return Map.copyOf(reasons);
  }

  private static String text(String what, Map<String, String> reasons) {
    StringBuilder text = new StringBuilder(what).append("; tried ");
    String separator = "";
    for (Map.Entry<String, String> e : new TreeMap<>(reasons).entrySet()) {
      text.append(separator).append(e.getKey()).append(" (").append(e.getValue()).append(')');
      separator = ", ";
    }
    return text.append(". Check the addresses and that the brokers are running").toString();
  }
}
