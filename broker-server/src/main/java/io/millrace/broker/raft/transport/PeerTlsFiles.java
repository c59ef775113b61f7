package io.millrace.broker.raft.transport;

import java.nio.file.Path;

/**
 * What a broker needs for TLS with the others, as PEM files.
 *
 * @param certificate of this broker, then the certificates between it and a trusted one
 * @param key its private key, PKCS #8, not encrypted
 * @param trust certificates of those who sign for the brokers
 */
public record PeerTlsFiles(Path certificate, Path key, Path trust) {}
