package io.millrace.broker.raft.transport;

import io.netty.buffer.ByteBufAllocator;
import io.netty.handler.ssl.ClientAuth;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslHandler;
import io.netty.handler.ssl.SslProvider;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.cert.Certificate;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import javax.naming.InvalidNameException;
import javax.naming.ldap.LdapName;
import javax.naming.ldap.Rdn;
import javax.net.ssl.SSLPeerUnverifiedException;

/**
 * TLS between brokers. Both sides show a certificate that names its broker: {@code broker-1} as a
 * DNS name among the subject's alternative names, or as the common name of a certificate without
 * such names (RFC 6125, 6.4.4). Where a broker listens plays no part, so addresses may change.
 *
 * <p>Threads: immutable, any. Errors: {@link IOException}, one line that names the file.
 */
public final class PeerTls {

  /** The first byte of a TLS connection: a handshake record. No frame begins with it. */
  public static final int FIRST_BYTE = 22;

  /** Both ends are brokers, so nothing older needs to be spoken. */
  private static final String[] PROTOCOLS = {"TLSv1.3", "TLSv1.2"};

  private static final int DNS_NAME = 2;

  private final SslContext client;
  private final SslContext server;

  private PeerTls(SslContext client, SslContext server) {
    this.client = client;
    this.server = server;
  }

  /** Reads the files, and refuses a certificate that is not of this broker. */
  public static PeerTls load(PeerTlsFiles files, int brokerId) throws IOException {
    List<X509Certificate> own = certificates(files.certificate());
    String refusal = refusal(namesIn(own.get(0)), brokerId);
    if (refusal != null) {
      throw new IOException(files.certificate() + ": " + refusal);
    }
    X509Certificate[] trusted = certificates(files.trust()).toArray(X509Certificate[]::new);
    try {
      return new PeerTls(
          SslContextBuilder.forClient()
              .sslProvider(SslProvider.JDK)
              .protocols(PROTOCOLS)
              .keyManager(files.certificate().toFile(), files.key().toFile())
              .trustManager(trusted)
              // The name is the broker's, not the host's: refusal() compares it.
              .endpointIdentificationAlgorithm(null)
              .build(),
          SslContextBuilder.forServer(files.certificate().toFile(), files.key().toFile())
              .sslProvider(SslProvider.JDK)
              .protocols(PROTOCOLS)
              .trustManager(trusted)
              .clientAuth(ClientAuth.REQUIRE)
              .build());
    } catch (IOException | IllegalArgumentException unusable) {
      throw new IOException(
          files.key()
              + " is no private key for "
              + files.certificate()
              + " ("
              + rootCause(unusable)
              + "); it must be PKCS #8 in PEM, not encrypted",
          unusable);
    }
  }

  private static List<X509Certificate> certificates(Path file) throws IOException {
    try (InputStream in = new BufferedInputStream(Files.newInputStream(file))) {
      Collection<? extends Certificate> read =
          CertificateFactory.getInstance("X.509").generateCertificates(in);
      if (read.isEmpty()) {
        throw new IOException(file + " holds no certificate; it must hold one in PEM");
      }
      return read.stream().map(X509Certificate.class::cast).toList();
    } catch (CertificateException unreadable) {
      throw new IOException(
          file + " is no list of certificates in PEM: " + unreadable.getMessage(), unreadable);
    }
  }

  SslHandler newClient(ByteBufAllocator allocator) {
    return client.newHandler(allocator);
  }

  public SslHandler newServer(ByteBufAllocator allocator) {
    return server.newHandler(allocator);
  }

  /** The names in the certificate of the other side, after the TLS handshake. */
  public static Set<String> peerNames(SslHandler handler) {
    try {
      Certificate[] chain = handler.engine().getSession().getPeerCertificates();
      return namesIn((X509Certificate) chain[0]);
    } catch (SSLPeerUnverifiedException withoutCertificate) {
      return Set.of(); // Names nobody, so it is refused.
    }
  }

  /** Why a certificate with these names does not belong to that broker; null if it does. */
  public static String refusal(Set<String> names, int brokerId) {
    String expected = "broker-" + brokerId;
    return names.contains(expected)
        ? null
        : "the certificate names " + names + ", not " + expected + "; make one that does";
  }

  static Set<String> namesIn(X509Certificate certificate) {
    Set<String> names = new TreeSet<>();
    try {
      Collection<List<?>> alternatives = certificate.getSubjectAlternativeNames();
      if (alternatives != null) {
        for (List<?> alternative : alternatives) {
          if (alternative.get(0).equals(DNS_NAME)) {
            names.add((String) alternative.get(1));
          }
        }
      }
      if (names.isEmpty()) {
        for (Rdn rdn : new LdapName(certificate.getSubjectX500Principal().getName()).getRdns()) {
          if (rdn.getType().equalsIgnoreCase("CN")) {
            names.add(String.valueOf(rdn.getValue()));
          }
        }
      }
    } catch (CertificateException | InvalidNameException unreadable) {
      return Set.of(); // A certificate whose names cannot be read names nobody.
    }
    return names;
  }

  /** The innermost reason, which says more than the wrappers of the TLS engine. */
  static String rootCause(Throwable failure) {
    Throwable cause = failure;
    while (cause.getCause() != null) {
      cause = cause.getCause();
    }
    return cause.getMessage() == null ? cause.getClass().getSimpleName() : cause.getMessage();
  }
}
