package io.millrace.broker.raft.transport;

import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.HexFormat;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * What every broker of a cluster knows and nobody else: 32 random bytes, written as 64 hexadecimal
 * digits. It is never sent; a broker shows that it knows it by a keyed hash (HMAC-SHA256, RFC 2104)
 * over what both sides of a new connection said.
 *
 * <p>Threads: immutable, any. Errors: texts never hold the secret.
 */
public final class ClusterSecret {

  /** Also the size of a nonce and of a proof. */
  public static final int BYTES = 32;

  private static final String HMAC = "HmacSHA256";
  private static final SecureRandom RANDOM = new SecureRandom();

  private final byte[] key;

  private ClusterSecret(byte[] key) {
    this.key = key;
  }

  /** A new one. */
  public static ClusterSecret random() {
    return new ClusterSecret(nonce());
  }

  /** Random bytes that no connection had before. */
  public static byte[] nonce() {
    byte[] bytes = new byte[BYTES];
    RANDOM.nextBytes(bytes);
    return bytes;
  }

  /** Reads what {@link #print} wrote. */
  public static ClusterSecret parse(String text) {
    String digits = text.strip();
    if (!digits.matches("[0-9a-fA-F]{" + 2 * BYTES + "}")) {
      throw new IllegalArgumentException(
          "a cluster secret is one line of "
              + 2 * BYTES
              + " hexadecimal digits, this text has "
              + digits.length()
              + " characters or others than these");
    }
    return new ClusterSecret(HexFormat.of().parseHex(digits));
  }

  /** The secret itself, for its file; nothing else may show it. */
  public String print() {
    return HexFormat.of().formatHex(key);
  }

  byte[] hash(byte[] message) {
    try {
      Mac mac = Mac.getInstance(HMAC);
      mac.init(new SecretKeySpec(key, HMAC));
      return mac.doFinal(message);
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("every Java has " + HMAC, e);
    }
  }

  /** Takes as long for a nearly right proof as for any other. */
  static boolean isSame(byte[] proof, byte[] expected) {
    return MessageDigest.isEqual(proof, expected);
  }

  @Override
  public String toString() {
    return "cluster secret (not shown)";
  }
}
