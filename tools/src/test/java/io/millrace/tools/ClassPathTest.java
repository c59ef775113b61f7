package io.millrace.tools;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.File;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The brokers that {@code cluster up} starts run on the class path of this command, so what JRaft's
 * stock transport brings must be kept away here too.
 */
class ClassPathTest {

  @Test
  void noJarOfJRaftsStockTransport() {
    List<String> jars =
        Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
            .map(entry -> new File(entry).getName())
            .toList();
    assertThat(jars).anyMatch(name -> name.startsWith("jraft-core-"));
    assertThat(jars)
        .noneMatch(name -> name.matches("(bolt|hessian|sofa-hessian|sofa-rpc.*)-\\d.*\\.jar"))
        .noneMatch(name -> name.matches("netty-.*-4\\.[01]\\..*\\.jar"));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"com.alipay.remoting.rpc.RpcServer", "com.caucho.hessian.io.HessianInput"})
  void noClassOfJRaftsStockTransport(String name) {
    assertThatThrownBy(() -> Class.forName(name)).isInstanceOf(ClassNotFoundException.class);
  }
}
