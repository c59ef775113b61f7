package io.millrace.tools;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonParser;
import io.millrace.tools.Output.Rows;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class OutputTest {
  private static final Rows ROWS =
      new Rows(List.of("topic", "logEnd", "replicas", "note"))
          .add("a", 7L, List.of(1, 2, 3), null)
          .add("longer", 12_345L, List.of(1), "x y");

  private final ByteArrayOutputStream out = new ByteArrayOutputStream();

  private Output output(Output.Form form) {
    return new Output(form, new PrintStream(out, true));
  }

  @Test
  void tableAlignsAndPutsNumbersRight() {
    output(Output.Form.table).rows(ROWS);

    assertThat(out.toString())
        .isEqualTo(
            """
            TOPIC   LOG END  REPLICAS  NOTE
            a             7  1,2,3     -
            longer    12345  1         x y
            """);
  }

  @Test
  void plainHasTabsAndNoHeading() {
    output(Output.Form.plain).rows(ROWS);

    assertThat(out.toString()).isEqualTo("a\t7\t1,2,3\t-\nlonger\t12345\t1\tx y\n");
  }

  @Test
  void jsonKeepsTypes() {
    output(Output.Form.json).rows(ROWS);

    assertThat(JsonParser.parseString(out.toString()))
        .isEqualTo(
            JsonParser.parseString(
                """
                [{"topic":"a","logEnd":7,"replicas":[1,2,3],"note":null},
                 {"topic":"longer","logEnd":12345,"replicas":[1],"note":"x y"}]
                """));
  }

  @Test
  void fieldsMayHoldRows() {
    Map<String, Object> fields = new LinkedHashMap<>();
    fields.put("topic", "<a>");
    fields.put("maxMillis", 1.5);
    fields.put("errors", new Rows(List.of("code")).add("X"));

    output(Output.Form.json).fields(fields);

    assertThat(JsonParser.parseString(out.toString()))
        .isEqualTo(
            JsonParser.parseString(
                "{\"topic\":\"<a>\",\"maxMillis\":1.5,\"errors\":[{\"code\":\"X\"}]}"));
    assertThat(out.toString()).contains("<a>");

    fields.put("none", new Rows(List.of("heading")));
    out.reset();
    output(Output.Form.table).fields(fields);

    assertThat(out.toString())
        .isEqualTo(
            """
            topic       <a>
            max millis  1.50

            CODE
            X
            """);
  }

  @Test
  void sentencesAreForPeopleOnly() {
    output(Output.Form.json).say("hello");
    output(Output.Form.plain).say("hello");
    assertThat(out.toString()).isEmpty();

    output(Output.Form.table).say("hello");
    assertThat(out.toString()).isEqualToIgnoringNewLines("hello");
  }
}
