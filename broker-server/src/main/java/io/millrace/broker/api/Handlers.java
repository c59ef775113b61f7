package io.millrace.broker.api;

import io.millrace.protocol.frame.ApiKind;
import java.util.Collection;
import java.util.EnumMap;
import java.util.Map;

/** The handlers by kind; immutable. */
public final class Handlers {

  private final Map<ApiKind, RequestHandler> byKind = new EnumMap<>(ApiKind.class);

  public Handlers(Collection<? extends RequestHandler> handlers) {
    for (RequestHandler handler : handlers) {
      RequestHandler other = byKind.put(handler.kind(), handler);
      if (other != null) {
        throw new IllegalArgumentException(
            handler.kind() + " has two handlers: " + other + " and " + handler);
      }
    }
  }

  /** Null when this broker has none. */
  public RequestHandler find(ApiKind kind) {
    return byKind.get(kind);
  }
}
