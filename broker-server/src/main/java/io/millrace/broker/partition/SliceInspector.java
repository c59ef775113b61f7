package io.millrace.broker.partition;

import io.millrace.broker.log.DiskFile;
import io.millrace.broker.log.FetchSlice;
import io.millrace.broker.log.FileRegion;
import io.millrace.protocol.batch.BatchHeader;
import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * Looks at what is about to be sent. Tests look at every batch header; production relies on the log
 * and looks at nothing, which keeps the bytes out of the broker's memory.
 */
@FunctionalInterface
public interface SliceInspector {

  SliceInspector NONE = slice -> 0;

  /** Reads the header of every batch. */
  SliceInspector EVERY_HEADER = SliceInspector::countControlBatches;

  /** Control batches in the slice: there must be none. */
  long controlBatches(FetchSlice slice) throws IOException;

  private static long countControlBatches(FetchSlice slice) throws IOException {
    long found = 0;
    ByteBuffer header = ByteBuffer.allocate(BatchHeader.SIZE);
    for (FileRegion region : slice.regions()) {
      long end = region.position() + region.length();
      for (long at = region.position(); at < end; ) {
        readHeader(region.file(), header, at);
        if (BatchHeader.isControl(header, 0)) {
          found++;
        }
        at += BatchHeader.sizeInBytes(header, 0);
        if (at > end) {
          throw new IOException("a region of a slice ends inside the batch that ends at " + at);
        }
      }
    }
    return found;
  }

  private static void readHeader(DiskFile file, ByteBuffer header, long position)
      throws IOException {
    header.clear();
    while (header.hasRemaining()) {
      int read = file.read(header, position + header.position());
      if (read <= 0) {
        throw new IOException("no batch header at position " + position);
      }
    }
    header.flip();
  }
}
