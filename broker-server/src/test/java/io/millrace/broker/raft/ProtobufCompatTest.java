package io.millrace.broker.raft;

import static org.assertj.core.api.Assertions.assertThat;

import com.alipay.sofa.jraft.entity.EnumOutter;
import com.alipay.sofa.jraft.entity.LocalFileMetaOutter;
import com.alipay.sofa.jraft.entity.LocalStorageOutter;
import com.alipay.sofa.jraft.entity.RaftOutter;
import com.alipay.sofa.jraft.entity.codec.v2.LogOutter;
import com.alipay.sofa.jraft.rpc.CliRequests;
import com.alipay.sofa.jraft.rpc.RpcRequests;
import com.google.protobuf.ByteString;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.Message;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * JRaft's generated code is older than the protobuf runtime here, and between the two lie versions
 * on which it fails at the first parse. Every message type goes through serialisation and parsing.
 */
class ProtobufCompatTest {

  private static final List<FileDescriptor> FILES =
      List.of(
          RpcRequests.getDescriptor(),
          CliRequests.getDescriptor(),
          RaftOutter.getDescriptor(),
          LogOutter.getDescriptor(),
          LocalStorageOutter.getDescriptor(),
          LocalFileMetaOutter.getDescriptor(),
          EnumOutter.getDescriptor());

  private static final List<Class<?>> OUTER_CLASSES =
      List.of(
          RpcRequests.class,
          CliRequests.class,
          RaftOutter.class,
          LogOutter.class,
          LocalStorageOutter.class,
          LocalFileMetaOutter.class);

  @Test
  void everyMessageTypeSurvivesTheWire() throws Exception {
    List<String> seen = new ArrayList<>();
    for (FileDescriptor file : FILES) {
      for (Descriptor type : file.getMessageTypes()) {
        Message.Builder builder = builderOf(type);
        fill(builder);
        Message message = builder.build();
        Message parsed = message.getParserForType().parseFrom(message.toByteString());
        assertThat(parsed).as(type.getFullName()).isEqualTo(message);
        assertThat(parsed.getAllFields()).as(type.getFullName()).isNotEmpty();
        seen.add(type.getName());
      }
    }
    assertThat(seen)
        .contains("AppendEntriesRequest", "RequestVoteRequest", "TimeoutNowRequest", "EntryMeta")
        .hasSizeGreaterThan(30);
  }

  private static Message.Builder builderOf(Descriptor type) throws ReflectiveOperationException {
    Class<?> generated =
        OUTER_CLASSES.stream()
            .flatMap(outer -> Stream.of(outer.getDeclaredClasses()))
            .filter(c -> c.getSimpleName().equals(type.getName()))
            .findFirst()
            .orElseThrow(() -> new AssertionError("no class for " + type.getFullName()));
    Method newBuilder = generated.getMethod("newBuilder");
    return (Message.Builder) newBuilder.invoke(null);
  }

  private static void fill(Message.Builder builder) {
    for (FieldDescriptor field : builder.getDescriptorForType().getFields()) {
      if (field.getJavaType() == FieldDescriptor.JavaType.MESSAGE) {
        Message.Builder inner = builder.newBuilderForField(field);
        fill(inner);
        set(builder, field, inner.build());
      } else {
        set(builder, field, sample(field));
      }
    }
  }

  private static void set(Message.Builder builder, FieldDescriptor field, Object value) {
    if (field.isRepeated()) {
      builder.addRepeatedField(field, value);
      builder.addRepeatedField(field, value);
    } else {
      builder.setField(field, value);
    }
  }

  private static Object sample(FieldDescriptor field) {
    return switch (field.getJavaType()) {
      case INT -> 7;
      case LONG -> 1L << 40;
      case BOOLEAN -> true;
      case STRING -> "b1:0:2";
      case BYTE_STRING -> ByteString.copyFromUtf8("data");
      case ENUM -> field.getEnumType().getValues().get(field.getEnumType().getValues().size() - 1);
      case FLOAT -> 1.5f;
      case DOUBLE -> 2.5d;
      case MESSAGE -> throw new IllegalArgumentException("filled by the caller");
    };
  }
}
