package io.millrace.broker.raft.threads;

import com.alipay.sofa.jraft.util.DisruptorBuilder;
import com.alipay.sofa.jraft.util.NamedThreadFactory;
import com.alipay.sofa.jraft.util.ThreadPoolUtil;
import java.security.CodeSource;
import java.util.List;

/**
 * Marks the classes of ours that bear the names of JRaft's: JRaft creates its threads in places
 * that no option reaches, so three of its utility classes are replaced on the class path. What they
 * must do is small: build a ring, name a thread, build a pool.
 */
public interface InPlaceOfJRaft {

  /**
   * Fails if JRaft's own class was loaded in place of one of ours. It would work, with five threads
   * per partition and pools that reject.
   */
  static void check() {
    for (Class<?> type :
        List.of(DisruptorBuilder.class, NamedThreadFactory.class, ThreadPoolUtil.class)) {
      if (!InPlaceOfJRaft.class.isAssignableFrom(type)) {
        CodeSource source = type.getProtectionDomain().getCodeSource();
        throw new IllegalStateException(
            type.getName()
                + " was loaded from "
                + (source == null ? "an unknown place" : source.getLocation())
                + "; put the jar of millrace's broker-server before it on the class path");
      }
    }
  }
}
