package io.millrace.broker;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.lang.ArchRule;
import com.tngtech.archunit.lang.syntax.elements.ClassesShouldConjunction;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The packages of the broker form layers; a package may use any below it, never one above. */
class PackageArrowsTest {

  /** From the top to the bottom. */
  private static final List<String> LAYERS =
      List.of(
          "io.millrace.embedded..",
          "io.millrace.broker",
          "io.millrace.broker.net..",
          "io.millrace.broker.api..",
          "io.millrace.broker.cluster..",
          "io.millrace.broker.group..",
          "io.millrace.broker.partition..",
          "io.millrace.broker.state..",
          "io.millrace.broker.raft..",
          "io.millrace.broker.log..");

  private static JavaClasses broker;

  @BeforeAll
  static void read() {
    broker =
        new ClassFileImporter()
            .withImportOption(new ImportOption.DoNotIncludeTests())
            .importPackages("io.millrace.broker", "io.millrace.embedded");
  }

  static Stream<String> layers() {
    return LAYERS.stream();
  }

  @ParameterizedTest
  @MethodSource("layers")
  void usesNothingAbove(String layer) {
    String[] above = LAYERS.subList(0, LAYERS.indexOf(layer)).toArray(String[]::new);
    if (above.length == 0) {
      return;
    }
    ArchRule rule =
        noClasses()
            .that()
            .resideInAPackage(layer)
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage(above)
            .allowEmptyShould(true);
    rule.check(broker);
  }

  @Test
  void everyPackageIsInALayer() {
    ClassesShouldConjunction rule =
        classes().should().resideInAnyPackage(LAYERS.toArray(String[]::new));
    rule.check(broker);
  }

  @Test
  void onlyRaftAndTheWiringAboveTouchJRaft() {
    noClasses()
        .that()
        .resideOutsideOfPackages("io.millrace.broker.raft..", "io.millrace.broker")
        .should()
        .dependOnClassesThat()
        .resideInAPackage("com.alipay.sofa.jraft..")
        .check(broker);
  }

  @Test
  void theLogKnowsNeitherRaftNorTheNetwork() {
    noClasses()
        .that()
        .resideInAPackage("io.millrace.broker.log..")
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage("com.alipay.sofa.jraft..", "io.netty..")
        .check(broker);
  }

  @Test
  void theBrokerDoesNotUseTheClient() {
    noClasses()
        .that()
        .resideInAPackage("io.millrace.broker..")
        .should()
        .dependOnClassesThat()
        .resideInAPackage("io.millrace.client..")
        .check(broker);
  }
}
