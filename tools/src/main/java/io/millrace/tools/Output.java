package io.millrace.tools;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * What a command prints on standard output, in the form that the user asked for: aligned tables for
 * people, JSON or tab-separated values for scripts. Every command prints through this class, so
 * that a field has one name everywhere.
 *
 * <p>A field is named in camelCase: its key in JSON, and its heading in tables ("logEnd" is headed
 * "LOG END").
 */
public final class Output {
  /** The forms of {@code --output}. */
  public enum Form {
    table,
    json,
    plain
  }

  /** Lines with the same fields. Values are numbers, booleans, text, lists of these, or null. */
  public record Rows(List<String> columns, List<List<Object>> lines) {
    public Rows(List<String> columns) {
      this(columns, new ArrayList<>());
    }

    public Rows add(Object... values) {
      if (values.length != columns.size()) {
        throw new IllegalArgumentException(
            values.length + " values for the columns " + columns + ": one each is needed");
      }
      var line = new ArrayList<Object>(values.length);
      for (Object value : values) {
        line.add(value);
      }
      lines.add(line);
      return this;
    }
  }

  private static final Gson JSON =
      new GsonBuilder().disableHtmlEscaping().serializeNulls().setPrettyPrinting().create();
  private static final Gson JSON_LINE =
      new GsonBuilder().disableHtmlEscaping().serializeNulls().create();

  private final Form form;
  private final PrintStream out;

  public Output(Form form, PrintStream out) {
    this.form = form;
    this.out = out;
  }

  public Form form() {
    return form;
  }

  /** Prints a list; JSON: an array of objects. */
  public void rows(Rows rows) {
    switch (form) {
      case table -> table(rows);
      case plain -> plain(rows);
      case json -> out.println(JSON.toJson(objects(rows)));
    }
    out.flush();
  }

  /** Prints one thing by its fields; JSON: an object. A field may hold {@link Rows}. */
  public void fields(Map<String, Object> fields) {
    switch (form) {
      case json -> {
        var object = new LinkedHashMap<String, Object>();
        fields.forEach(
            (name, value) -> object.put(name, value instanceof Rows rows ? objects(rows) : value));
        out.println(JSON.toJson(object));
      }
      case plain ->
          fields.forEach(
              (name, value) -> {
                if (value instanceof Rows rows) {
                  plain(rows);
                } else {
                  out.println(name + "\t" + text(value));
                }
              });
      case table -> fieldTable(fields);
    }
    out.flush();
  }

  /** Prints a sentence for people; scripts do not get it. */
  public void say(String sentence) {
    if (form == Form.table) {
      out.println(sentence);
      out.flush();
    }
  }

  /** One JSON object on one line, for streams of records. */
  public static String jsonLine(Map<String, Object> object) {
    return JSON_LINE.toJson(object);
  }

  private void fieldTable(Map<String, Object> fields) {
    int width =
        fields.entrySet().stream()
            .filter(field -> !(field.getValue() instanceof Rows))
            .mapToInt(field -> words(field.getKey()).length())
            .max()
            .orElse(0);
    boolean any = false;
    for (var field : fields.entrySet()) {
      if (field.getValue() instanceof Rows rows) {
        if (rows.lines().isEmpty()) {
          continue;
        }
        if (any) {
          out.println();
        }
        table(rows);
      } else {
        out.println(pad(words(field.getKey()), width, false) + "  " + text(field.getValue()));
      }
      any = true;
    }
  }

  private void table(Rows rows) {
    int columns = rows.columns().size();
    int[] widths = new int[columns];
    boolean[] numeric = new boolean[columns];
    for (int i = 0; i < columns; i++) {
      widths[i] = heading(rows, i).length();
      numeric[i] = !rows.lines().isEmpty();
      for (List<Object> line : rows.lines()) {
        widths[i] = Math.max(widths[i], text(line.get(i)).length());
        numeric[i] &= line.get(i) instanceof Number || line.get(i) == null;
      }
    }
    var line = new ArrayList<String>();
    for (int i = 0; i < columns; i++) {
      line.add(pad(heading(rows, i), widths[i], numeric[i]));
    }
    out.println(String.join("  ", line).stripTrailing());
    for (List<Object> values : rows.lines()) {
      line.clear();
      for (int i = 0; i < columns; i++) {
        line.add(pad(text(values.get(i)), widths[i], numeric[i]));
      }
      out.println(String.join("  ", line).stripTrailing());
    }
  }

  private void plain(Rows rows) {
    for (List<Object> values : rows.lines()) {
      out.println(String.join("\t", values.stream().map(Output::text).toList()));
    }
  }

  private static List<Map<String, Object>> objects(Rows rows) {
    var objects = new ArrayList<Map<String, Object>>();
    for (List<Object> values : rows.lines()) {
      var object = new LinkedHashMap<String, Object>();
      for (int i = 0; i < values.size(); i++) {
        object.put(rows.columns().get(i), values.get(i));
      }
      objects.add(object);
    }
    return objects;
  }

  private static String heading(Rows rows, int column) {
    return words(rows.columns().get(column)).toUpperCase(Locale.ROOT);
  }

  private static String words(String camelCase) {
    return camelCase.replaceAll("(?<=[a-z0-9])(?=[A-Z])", " ").toLowerCase(Locale.ROOT);
  }

  private static String text(Object value) {
    if (value == null) {
      return "-";
    }
    if (value instanceof List<?> list) {
      return String.join(",", list.stream().map(Output::text).toList());
    }
    if (value instanceof Double || value instanceof Float) {
      return String.format(Locale.ROOT, "%.2f", ((Number) value).doubleValue());
    }
    return value.toString();
  }

  private static String pad(String text, int width, boolean right) {
    String blanks = " ".repeat(Math.max(0, width - text.length()));
    return right ? blanks + text : text + blanks;
  }
}
