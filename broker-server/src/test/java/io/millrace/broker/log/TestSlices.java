package io.millrace.broker.log;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/** Slices of any file, for tests of those who send slices. */
public final class TestSlices {

  private TestSlices() {}

  /** An open file with its count of users. */
  public static final class OpenFile {
    private final FileHandles handles;
    private final FileHandles.Handle handle;

    public OpenFile(Disk disk, Path path) {
      handles = new FileHandles(disk, 0);
      handle = handles.of(path);
    }

    /** One slice of these ranges (position, length, position, length...). */
    public FetchSlice slice(int... ranges) throws IOException {
      DiskFile file = handle.acquire();
      List<FileRegion> regions = new java.util.ArrayList<>();
      int bytes = 0;
      for (int i = 0; i < ranges.length; i += 2) {
        regions.add(new FileRegion(file, ranges[i], ranges[i + 1]));
        bytes += ranges[i + 1];
      }
      return new FetchSlice(regions, List.of(handle), bytes, 0, 0, 1);
    }

    /** 0 when every slice was released. */
    public int openCount() {
      return handles.openFiles();
    }
  }
}
