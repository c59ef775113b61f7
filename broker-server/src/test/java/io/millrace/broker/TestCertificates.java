package io.millrace.broker;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.broker.raft.transport.PeerTlsFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.KeyManager;
import javax.net.ssl.KeyManagerFactory;

/**
 * An authority and the certificates that it signs, made with the JDK's keytool in a directory of
 * the test.
 */
public final class TestCertificates {

  private static final String PASSWORD = "changeit";
  private static final String AUTHORITY = "authority";

  private final Path directory;
  private final Path store;

  public TestCertificates(Path directory) throws Exception {
    this.directory = Files.createDirectories(directory);
    store = directory.resolve("all.p12");
    keytool("-genkeypair", "-alias", AUTHORITY, "-dname", "CN=test authority", "-ext", "bc:c");
  }

  /** A certificate whose only DNS name is this one; its common name is another. */
  public PeerTlsFiles withDnsName(String name) throws Exception {
    return make(name, "CN=elsewhere", "-ext", "san=dns:" + name + ",ip:127.0.0.1");
  }

  /** A certificate without alternative names. */
  public PeerTlsFiles withCommonName(String name) throws Exception {
    return make(name, "O=Millrace,CN=" + name);
  }

  private PeerTlsFiles make(String alias, String subject, String... more) throws Exception {
    List<String> arguments =
        new ArrayList<>(
            List.of("-genkeypair", "-alias", alias, "-signer", AUTHORITY, "-dname", subject));
    arguments.addAll(List.of(more));
    keytool(arguments.toArray(String[]::new));
    KeyStore keys = open();
    Path key =
        write(
            alias + ".key",
            "PRIVATE KEY",
            List.of(keys.getKey(alias, PASSWORD.toCharArray()).getEncoded()));
    Files.setPosixFilePermissions(key, PosixFilePermissions.fromString("rw-------"));
    return new PeerTlsFiles(
        write(alias + ".pem", "CERTIFICATE", List.of(keys.getCertificate(alias).getEncoded())),
        key,
        write("trust.pem", "CERTIFICATE", List.of(keys.getCertificate(AUTHORITY).getEncoded())));
  }

  /** What a client needs to show one of the certificates. */
  public KeyManager[] keyManagers(String alias) throws Exception {
    KeyStore all = open();
    KeyStore one = KeyStore.getInstance("PKCS12");
    one.load(null, null);
    Certificate[] chain = all.getCertificateChain(alias);
    one.setKeyEntry(
        alias, all.getKey(alias, PASSWORD.toCharArray()), PASSWORD.toCharArray(), chain);
    KeyManagerFactory factory =
        KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    factory.init(one, PASSWORD.toCharArray());
    return factory.getKeyManagers();
  }

  private KeyStore open() throws IOException, GeneralSecurityException {
    return KeyStore.getInstance(store.toFile(), PASSWORD.toCharArray());
  }

  private Path write(String name, String label, List<byte[]> blocks) throws IOException {
    StringBuilder text = new StringBuilder();
    for (byte[] block : blocks) {
      text.append("-----BEGIN ").append(label).append("-----\n");
      text.append(Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(block));
      text.append("\n-----END ").append(label).append("-----\n");
    }
    return Files.writeString(directory.resolve(name), text);
  }

  private void keytool(String... arguments) throws Exception {
    List<String> command =
        new ArrayList<>(
            List.of(
                Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
                "-J-Xshare:auto"));
    command.addAll(List.of(arguments));
    command.addAll(
        List.of(
            "-keyalg",
            "EC",
            "-groupname",
            "secp256r1",
            "-validity",
            "2",
            "-storetype",
            "PKCS12",
            "-keystore",
            store.toString(),
            "-storepass",
            PASSWORD));
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    String output = new String(process.getInputStream().readAllBytes());
    assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
    assertThat(process.exitValue()).as(output).isZero();
  }
}
