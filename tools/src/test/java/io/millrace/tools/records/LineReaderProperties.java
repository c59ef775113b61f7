package io.millrace.tools.records;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.millrace.tools.CommandFailure;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;

class LineReaderProperties {
  private static final int MAX_BYTES = 1_000;

  /** Gives a few bytes at a time, as a pipe may. */
  private static InputStream trickling(byte[] bytes, int atMost) {
    return new ByteArrayInputStream(bytes) {
      @Override
      public synchronized int read(byte[] target, int offset, int length) {
        return super.read(target, offset, Math.min(length, atMost));
      }
    };
  }

  private static List<String> read(byte[] bytes, int atMost) throws IOException {
    var reader = new LineReader(trickling(bytes, atMost), MAX_BYTES);
    List<String> lines = new ArrayList<>();
    for (byte[] line = reader.next(); line != null; line = reader.next()) {
      lines.add(new String(line, StandardCharsets.ISO_8859_1));
      assertThat(reader.lineNumber()).isEqualTo(lines.size());
    }
    return lines;
  }

  @Property(tries = 300)
  void linesComeBackByteForByte(
      @ForAll @Size(max = 20) List<@Size(max = 50) List<Byte>> lines,
      @ForAll @IntRange(min = 1, max = 9) int atMost)
      throws IOException {
    var text = new ByteArrayOutputStream();
    List<String> expected = new ArrayList<>();
    for (List<Byte> line : lines) {
      var one = new ByteArrayOutputStream();
      line.stream().filter(each -> each != '\n').forEach(one::write);
      text.writeBytes(one.toByteArray());
      text.write('\n');
      expected.add(one.toString(StandardCharsets.ISO_8859_1));
    }

    assertThat(read(text.toByteArray(), atMost)).isEqualTo(expected);
  }

  @Example
  void aLastLineWithoutLineFeedCounts() throws IOException {
    assertThat(read("a\r\n\nb".getBytes(StandardCharsets.UTF_8), 2))
        .containsExactly("a\r", "", "b");
    assertThat(read(new byte[0], 2)).isEmpty();
  }

  @Example
  void aLineBeyondTheLimitIsNamed() throws IOException {
    byte[] text = ("short\n" + "x".repeat(MAX_BYTES + 1)).getBytes(StandardCharsets.UTF_8);
    var reader = new LineReader(trickling(text, 100), MAX_BYTES);
    assertThat(reader.next()).hasSize(5);

    assertThatThrownBy(reader::next)
        .isInstanceOf(CommandFailure.class)
        .hasMessageContaining("line 2 is longer than 1,000 bytes");
  }
}
