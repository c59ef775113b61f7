/**
 * How a replica whose log may lack entries that it acknowledged gets them back.
 *
 * <p>Such a replica runs no Raft node, so it can neither vote nor lead. {@link
 * io.millrace.broker.raft.refill.Refills} completes its log from another broker, and then it starts
 * again. The rules, and why they are safe, are in {@link
 * io.millrace.broker.raft.refill.RefillPlan}.
 */
package io.millrace.broker.raft.refill;
