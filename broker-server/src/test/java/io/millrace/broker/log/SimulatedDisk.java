package io.millrace.broker.log;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.WritableByteChannel;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.function.Predicate;

/**
 * A disk in memory that forgets what was not synced.
 *
 * <p>Every file has a written and a synced state, page by page; every directory has names that were
 * synced and operations that were not. A power loss keeps, of each page written since the last
 * fsync, the old bytes, the new ones, or new ones up to some sector; a size between the old and the
 * new; and any subset of the unsynced operations on names. A kill keeps everything written, and
 * perhaps a part of the write it fell into.
 *
 * <p>Operations that change something are counted from 1; one of them can be made to fail, or be
 * the moment at which the process dies. All choices follow from the seed.
 *
 * <p>Threads: any.
 */
public final class SimulatedDisk implements Disk {

  private static final int PAGE = 4096;
  private static final int SECTOR = 512;

  /** Small, so that one append takes several writes. */
  private static final int WRITE_BUFFER_BYTES = 700;

  /** Thrown by everything the process tries after it was killed. */
  public static final class KilledException extends IOException {
    private static final long serialVersionUID = 1;

    KilledException() {
      super("the process was killed");
    }
  }

  private static final class Node {
    byte[] data = new byte[0];
    int size;
    int syncedSize;
    boolean sizeForgotten;

    /** Synced content of the pages that were changed since. */
    final Map<Integer, byte[]> oldPages = new TreeMap<>();

    /** Pages that a failed fsync left behind as clean: no later one writes them. */
    final Set<Integer> forgotten = new HashSet<>();
  }

  private enum Kind {
    CREATE,
    DELETE,
    RENAME
  }

  private static final class NameOperation {
    final Kind kind;
    final Path path;
    final Path target;
    final Node node;

    NameOperation(Kind kind, Path path, Path target, Node node) {
      this.kind = kind;
      this.path = path;
      this.target = target;
      this.node = node;
    }

    boolean sharesNameWith(NameOperation other) {
      return path.equals(other.path)
          || path.equals(other.target)
          || other.path.equals(target)
          || target != null && target.equals(other.target);
    }

    void applyTo(Map<Path, Node> names) {
      switch (kind) {
        case CREATE -> names.put(path, node);
        case DELETE -> names.remove(path);
        case RENAME -> {
          Node moved = names.remove(path);
          if (moved != null) {
            names.put(target, moved);
          }
        }
      }
    }
  }

  private final Random random;
  private final WriteBuffers writeBuffers = new WriteBuffers(4, WRITE_BUFFER_BYTES);
  private final Map<Path, Node> names = new TreeMap<>();
  private final Map<Path, Node> durableNames = new TreeMap<>();
  private final Set<Path> directories = new TreeSet<>();
  private final List<NameOperation> unsyncedNames = new ArrayList<>();
  private long operations;
  private long killAt = -1;
  private long syncs;
  private long failSyncAt = -1;
  private long failWriteAt = -1;
  private long writes;
  private long reads;
  private long capacity = Long.MAX_VALUE;
  private boolean dead;
  private int generation;
  private int boots = 1;
  private volatile Consumer<Path> beforeSync = path -> {};

  public SimulatedDisk(long seed) {
    this.random = new Random(seed);
  }

  // ------------------------------------------------------------------------------ what a test does

  /** Operations that changed something, so far. */
  public synchronized long operations() {
    return operations;
  }

  /** Read calls so far. */
  public synchronized long reads() {
    return reads;
  }

  /** Write calls so far. */
  public synchronized long writes() {
    return writes;
  }

  /** Fsyncs of files so far. */
  public synchronized long syncs() {
    return syncs;
  }

  /** The process dies in the n-th changing operation from now, 1 = the next. */
  public synchronized void killAfter(long more) {
    killAt = operations + more;
  }

  /** The n-th fsync of a file from now fails, and what it covered stays undurable. */
  public synchronized void failSync(long more) {
    failSyncAt = syncs + more;
  }

  /** The n-th write from now fails after a part of it. */
  public synchronized void failWrite(long more) {
    failWriteAt = writes + more;
  }

  /** Bytes that all files together can have. */
  public synchronized void capacity(long bytes) {
    capacity = bytes;
  }

  public synchronized long usedBytes() {
    return names.values().stream().mapToLong(node -> node.size).sum();
  }

  /** Runs before every fsync of a file, without any lock: to wait, to count. */
  public void beforeSync(Consumer<Path> action) {
    beforeSync = action;
  }

  public synchronized boolean isDead() {
    return dead;
  }

  /** The process dies now. */
  public synchronized void kill() {
    dead = true;
  }

  /** A new process: the old one's files are of no use to it, everything written is there. */
  public synchronized void restart() {
    dead = false;
    killAt = -1;
    failSyncAt = -1;
    failWriteAt = -1;
    generation++;
  }

  /** The machine loses power and starts again. */
  public synchronized void powerLoss() {
    settleNames(operation -> random.nextBoolean());
    unsyncedNames.clear();
    names.clear();
    names.putAll(durableNames);
    names.values().forEach(this::forget);
    boots++;
    restart();
  }

  /** Rot: changes a bit for good. */
  public synchronized void flip(Path path, long position, int bit) {
    Node node = node(path);
    if (position >= node.size) {
      throw new IllegalArgumentException(path + " has only " + node.size + " bytes");
    }
    node.data[(int) position] ^= (byte) (1 << bit);
    byte[] old = node.oldPages.get((int) position / PAGE);
    if (old != null) {
      old[(int) position % PAGE] ^= (byte) (1 << bit);
    }
  }

  /** Puts a durable file there. */
  public synchronized void put(Path path, byte[] content) {
    Node node = new Node();
    node.data = content.clone();
    node.size = content.length;
    node.syncedSize = content.length;
    names.put(path, node);
    durableNames.put(path, node);
  }

  /** Takes a file away for good. */
  public synchronized void lose(Path path) {
    names.remove(path);
    durableNames.remove(path);
  }

  public synchronized byte[] content(Path path) {
    Node node = node(path);
    return Arrays.copyOf(node.data, node.size);
  }

  /** Everything there is: to compare before and after. */
  public synchronized Map<Path, ByteBuffer> allContent() {
    Map<Path, ByteBuffer> all = new TreeMap<>();
    names.forEach(
        (path, node) -> all.put(path, ByteBuffer.wrap(Arrays.copyOf(node.data, node.size))));
    return all;
  }

  // --------------------------------------------------------------------------------- the inner
  // side

  private Node node(Path path) {
    Node node = names.get(path);
    if (node == null) {
      throw new IllegalArgumentException("no file " + path);
    }
    return node;
  }

  private void forget(Node node) {
    int size = chosenSize(node);
    byte[] data = Arrays.copyOf(node.data, Math.max(node.data.length, size));
    node.oldPages.forEach(
        (page, old) -> {
          int start = page * PAGE;
          byte[] kept = Arrays.copyOf(old, PAGE);
          if (!node.forgotten.contains(page) && start < node.data.length) {
            int newBytes =
                switch (random.nextInt(3)) {
                  case 0 -> 0;
                  case 1 -> PAGE;
                  default -> random.nextInt(PAGE / SECTOR + 1) * SECTOR;
                };
            newBytes = Math.min(newBytes, node.data.length - start);
            System.arraycopy(node.data, start, kept, 0, newBytes);
          }
          if (start < data.length) {
            System.arraycopy(kept, 0, data, start, Math.min(PAGE, data.length - start));
          }
        });
    node.data = Arrays.copyOf(data, size);
    node.size = size;
    node.syncedSize = size;
    node.oldPages.clear();
    node.forgotten.clear();
    node.sizeForgotten = false;
  }

  private int chosenSize(Node node) {
    if (node.sizeForgotten || node.size == node.syncedSize) {
      return node.syncedSize;
    }
    if (node.size < node.syncedSize) {
      return random.nextBoolean() ? node.size : node.syncedSize;
    }
    return switch (random.nextInt(3)) {
      case 0 -> node.syncedSize;
      case 1 -> node.size;
      default -> node.syncedSize + random.nextInt(node.size - node.syncedSize + 1);
    };
  }

  private void checkAlive(int mine) throws IOException {
    if (dead || mine != generation) {
      throw new KilledException();
    }
  }

  /** Counts an operation; dies if it is the one. */
  private void operation() throws IOException {
    checkAlive(generation);
    if (++operations == killAt) {
      dead = true;
      throw new KilledException();
    }
  }

  private static void remember(Node node, int from, int to) {
    for (int page = from / PAGE; page * PAGE < to; page++) {
      int start = page * PAGE;
      node.oldPages.computeIfAbsent(
          page,
          p -> {
            byte[] old = new byte[PAGE];
            int length = Math.min(PAGE, Math.min(node.data.length, node.size) - start);
            if (length > 0) {
              System.arraycopy(node.data, start, old, 0, length);
            }
            return old;
          });
      node.forgotten.remove(page);
    }
  }

  private static void store(Node node, ByteBuffer source, int position, int length) {
    remember(node, position, position + length);
    int end = position + length;
    if (end > node.data.length) {
      node.data = Arrays.copyOf(node.data, Math.max(end, node.data.length * 2));
    }
    source.get(node.data, position, length);
    if (end > node.size) {
      node.size = end;
      node.sizeForgotten = false;
    }
  }

  // ------------------------------------------------------------------------------------------ Disk

  @Override
  public synchronized DiskFile open(Path path, boolean create) throws IOException {
    checkAlive(generation);
    Node node = names.get(path);
    if (node == null) {
      if (!create) {
        throw new NoSuchFileException(path.toString());
      }
      if (!directories.contains(path.getParent())) {
        throw new NoSuchFileException(path.getParent().toString());
      }
      operation();
      node = new Node();
      names.put(path, node);
      unsyncedNames.add(new NameOperation(Kind.CREATE, path, null, node));
    }
    return new File(path, node, generation);
  }

  @Override
  public synchronized List<Path> list(Path directory) throws IOException {
    checkAlive(generation);
    if (!directories.contains(directory)) {
      throw new NoSuchFileException(directory.toString());
    }
    Set<Path> inside = new TreeSet<>();
    names.keySet().stream().filter(p -> directory.equals(p.getParent())).forEach(inside::add);
    directories.stream().filter(p -> directory.equals(p.getParent())).forEach(inside::add);
    return List.copyOf(inside);
  }

  @Override
  public synchronized boolean exists(Path path) {
    return names.containsKey(path) || directories.contains(path);
  }

  @Override
  public synchronized boolean isDirectory(Path path) {
    return directories.contains(path);
  }

  @Override
  public synchronized void createDirectory(Path directory) throws IOException {
    operation();
    for (Path each = directory; each != null; each = each.getParent()) {
      directories.add(each);
    }
  }

  @Override
  public synchronized void delete(Path path) throws IOException {
    operation();
    if (directories.contains(path) && list(path).isEmpty()) {
      directories.remove(path);
      return;
    }
    if (names.remove(path) == null) {
      throw new NoSuchFileException(path.toString());
    }
    unsyncedNames.add(new NameOperation(Kind.DELETE, path, null, null));
  }

  @Override
  public synchronized void rename(Path from, Path to) throws IOException {
    operation();
    if (directories.contains(from)) {
      renameDirectory(from, to);
      return;
    }
    Node node = names.remove(from);
    if (node == null) {
      throw new NoSuchFileException(from.toString());
    }
    names.put(to, node);
    unsyncedNames.add(new NameOperation(Kind.RENAME, from, to, node));
  }

  /** Durable at once, with all that is in it. */
  private void renameDirectory(Path from, Path to) {
    for (Path each : List.copyOf(directories)) {
      if (each.startsWith(from)) {
        directories.remove(each);
        directories.add(to.resolve(from.relativize(each).toString()));
      }
    }
    for (Map<Path, Node> all : List.of(names, durableNames)) {
      for (Path each : List.copyOf(all.keySet())) {
        if (each.startsWith(from)) {
          all.put(to.resolve(from.relativize(each)), all.remove(each));
        }
      }
    }
    unsyncedNames.removeIf(each -> each.path.startsWith(from));
  }

  @Override
  public synchronized void syncDirectory(Path directory) throws IOException {
    operation();
    // A rename is one step of the file system's journal: durable with the name that went.
    settleNames(each -> directory.equals(each.path.getParent()));
  }

  /** Makes some operations durable, and before each the earlier ones on the same names. */
  private void settleNames(Predicate<NameOperation> chosen) {
    Set<NameOperation> durable = new LinkedHashSet<>();
    for (int i = unsyncedNames.size() - 1; i >= 0; i--) {
      NameOperation each = unsyncedNames.get(i);
      if (chosen.test(each) || durable.stream().anyMatch(each::sharesNameWith)) {
        durable.add(each);
      }
    }
    for (NameOperation each : unsyncedNames) {
      if (durable.contains(each)) {
        each.applyTo(durableNames);
      }
    }
    unsyncedNames.removeAll(durable);
  }

  @Override
  public synchronized long usableBytes(Path path) {
    return capacity == Long.MAX_VALUE ? capacity : Math.max(0, capacity - usedBytes());
  }

  @Override
  public synchronized long totalBytes(Path path) {
    return capacity;
  }

  @Override
  public synchronized String bootId() {
    return "boot-" + boots;
  }

  @Override
  public WriteBuffers writeBuffers() {
    return writeBuffers;
  }

  private final class File implements DiskFile {

    private final Path path;
    private final Node node;
    private final int mine;
    private boolean closed;

    File(Path path, Node node, int mine) {
      this.path = path;
      this.node = node;
      this.mine = mine;
    }

    private void check() throws IOException {
      checkAlive(mine);
      if (closed) {
        throw new IOException(path + " is closed");
      }
    }

    @Override
    public long size() throws IOException {
      synchronized (SimulatedDisk.this) {
        check();
        return node.size;
      }
    }

    @Override
    public void write(ByteBuffer source, long position) throws IOException {
      synchronized (SimulatedDisk.this) {
        check();
        int length = source.remaining();
        try {
          operation();
        } catch (KilledException e) {
          store(node, source, (int) position, random.nextInt(length + 1));
          throw e;
        }
        if (++writes == failWriteAt) {
          store(node, source, (int) position, random.nextInt(length + 1));
          throw new IOException("simulated write failure of " + path);
        }
        long room = capacity == Long.MAX_VALUE ? capacity : usableBytes(path);
        long growth = Math.max(0, position + length - node.size);
        if (growth > room) {
          store(node, source, (int) position, (int) (length - growth + room));
          throw new IOException("No space left on device: " + path);
        }
        store(node, source, (int) position, length);
      }
    }

    @Override
    public int read(ByteBuffer target, long position) throws IOException {
      synchronized (SimulatedDisk.this) {
        check();
        reads++;
        if (position >= node.size) {
          return target.hasRemaining() ? -1 : 0;
        }
        int length = (int) Math.min(target.remaining(), node.size - position);
        target.put(node.data, (int) position, length);
        return length;
      }
    }

    @Override
    public void sync() throws IOException {
      beforeSync.accept(path);
      synchronized (SimulatedDisk.this) {
        check();
        operation();
        if (++syncs == failSyncAt) {
          node.forgotten.addAll(node.oldPages.keySet());
          node.sizeForgotten = true;
          throw new IOException("simulated fsync failure of " + path);
        }
        node.oldPages.keySet().retainAll(node.forgotten);
        if (!node.sizeForgotten) {
          node.syncedSize = node.size;
        }
      }
    }

    @Override
    public void truncate(long size) throws IOException {
      synchronized (SimulatedDisk.this) {
        check();
        operation();
        if (size < node.size) {
          remember(node, (int) size, node.size);
          Arrays.fill(node.data, (int) size, node.data.length, (byte) 0);
          node.size = (int) size;
          node.sizeForgotten = false;
        }
      }
    }

    @Override
    public long transferTo(long position, long count, WritableByteChannel target)
        throws IOException {
      ByteBuffer part = ByteBuffer.allocate((int) count);
      int length = read(part, position);
      return length <= 0 ? 0 : target.write(part.flip());
    }

    @Override
    public FileChannel channelOrNull() {
      return null;
    }

    @Override
    public void close() {
      synchronized (SimulatedDisk.this) {
        closed = true;
      }
    }
  }
}
