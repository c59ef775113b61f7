package io.millrace.broker.partition;

/**
 * Told of what cannot happen. In a test it fails the test; in production it is loud, and what
 * follows (a replica that stops) is up to the caller.
 *
 * <p>Threads: any.
 */
@FunctionalInterface
public interface FaultHandler {

  void fault(String what);
}
