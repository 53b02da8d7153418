#if !canImport(Darwin)
  import Glibc
  import SwappablePrimitives
  import Synchronization

  /// All watches of the process, on one inotify descriptor, because a process may have only a few
  /// of these.
  ///
  /// The descriptor and the thread that reads it exist as long as there are watches.
  final class WatchCenter: Sendable {
    static let shared = WatchCenter()

    private struct State {
      var reader: InotifyReader?
      var table = WatchTable()
    }

    private let state = Locked(State())

    /// The inotify descriptor, while there are watches.
    var descriptor: Int32? { state.withLock { $0.reader?.descriptor } }

    /// Adds a watch, or another user of an existing watch.
    ///
    /// The system identifies watches by inode, so all paths of one directory share a watch.
    func watch(
      _ path: ByteString, name: ByteString?, for receiver: @escaping WatchSystem.Receiver
    ) -> Result<WatchSystem.Token, FileError> {
      let (result, idle) = state.withLock { state in
        let reader = state.reader.map { .success($0) } ?? InotifyReader.start(for: self)
        let result = reader.flatMap { reader in
          state.reader = reader
          return reader.add(path, mask: name == nil ? Self.fileMask : Self.directoryMask)
            .map { state.table.add(receiver, to: $0, name: name) }
        }
        return (result, Self.takeIdleReader(&state))
      }
      idle?.stop()
      return result
    }

    func unwatch(_ tokens: [WatchSystem.Token]) {
      let (released, idle) = state.withLock { state in
        var released: [WatchSystem.Receiver] = []
        for token in tokens {
          let (wasLast, receiver) = state.table.remove(token)
          if let receiver { released.append(receiver) }
          if wasLast { state.reader?.remove(token.watch) }
        }
        return (released, Self.takeIdleReader(&state))
      }
      idle?.stop()
      withExtendedLifetime(released) {}
    }

    /// Passes events on to the receivers. The reader's thread calls this method.
    func take(_ events: [InotifyReader.Event], from reader: InotifyReader) {
      let calls = state.withLock { state -> [(WatchSystem.Receiver, FileSignal)] in
        // A reader that is being stopped knows nothing of the current reader's watches.
        guard state.reader === reader else { return [] }
        var calls: [(WatchSystem.Receiver, FileSignal)] = []
        for event in events {
          let receivers =
            if event.isOverflow {
              state.table.allReceivers
            } else if event.isEnd {
              state.table.removeWatch(event.watch)
            } else {
              state.table.receivers(of: event.watch, name: event.name)
            }
          for receiver in receivers { calls.append((receiver, event.signal)) }
        }
        return calls
      }
      for (receiver, signal) in calls { receiver(signal) }
    }

    private static func takeIdleReader(_ state: inout State) -> InotifyReader? {
      state.table.isEmpty ? state.reader.take() : nil
    }

    private static let fileMask = UInt32(
      IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF)
    private static let directoryMask = UInt32(
      IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ATTRIB | IN_DELETE_SELF
        | IN_MOVE_SELF)

    /// Returns a Boolean value that indicates whether a device's file system can be changed by
    /// other machines, or is provided by another process.
    static func isRemote(directory _: ByteString, device: UInt64) -> Bool {
      if let known = remoteDevices.withLock({ $0[device] }) { return known }
      let major = (device >> 8) & 0xFFF | (device >> 32) & ~0xFFF
      let minor = device & 0xFF | (device >> 12) & ~0xFF
      // The kernel's list of mounts: "id parent major:minor root point options … - type source …".
      guard let mounts = fopen("/proc/self/mountinfo", "re") else { return false }
      defer { fclose(mounts) }
      var line: UnsafeMutablePointer<CChar>?
      var capacity = 0
      defer { free(line) }
      var isRemote = false
      while getline(&line, &capacity, mounts) > 0, let text = line.map({ String(cString: $0) }) {
        let words = text.split(separator: " ")
        guard words.count > 2, words[2] == "\(major):\(minor)",
          let dash = words.firstIndex(of: "-"), dash + 1 < words.count
        else { continue }
        let type = words[dash + 1]
        isRemote = remoteTypes.contains(String(type)) || type.hasPrefix("fuse.")
      }
      remoteDevices.withLock { $0[device] = isRemote }
      return isRemote
    }

    private static let remoteDevices = Locked<[UInt64: Bool]>([:])

    private static let remoteTypes: Set<String> = [
      "nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "virtiofs", "fuse", "ceph", "afs", "coda",
      "lustre", "gfs2", "ocfs2", "vboxsf", "beegfs", "glusterfs",
    ]
  }

  /// An inotify descriptor and the thread that reads it.
  ///
  /// All methods except `stop()` are called under the owner's lock or by the reader's own thread.
  final class InotifyReader: Sendable {
    /// An event of the kernel.
    struct Event {
      var watch: Int
      var signal: FileSignal
      var name: ByteString?
      /// A Boolean value that indicates whether the kernel's queue was full. Events of any watch
      /// may be lost.
      var isOverflow: Bool
      var isEnd: Bool
    }

    let descriptor: Int32
    private let owner: WatchCenter
    /// The only watch of a file. Its end wakes the thread.
    private let stopWatch: Int32
    private let isStopped = Atomic<Bool>(false)
    /// The thread, or 0 before it runs.
    private let thread = Atomic<UInt>(0)

    private init(descriptor: Int32, stopWatch: Int32, owner: WatchCenter) {
      self.descriptor = descriptor
      self.stopWatch = stopWatch
      self.owner = owner
    }

    /// Creates a reader and starts its thread.
    ///
    /// - Parameter owner: The center that receives the events.
    static func start(for owner: WatchCenter) -> Result<InotifyReader, FileError> {
      let descriptor = inotify_init1(Int32(IN_CLOEXEC) | Int32(IN_NONBLOCK))
      guard descriptor >= 0 else {
        return .failure(FileError(errno, operation: "open", path: "an inotify descriptor"))
      }
      let stopWatch = inotify_add_watch(descriptor, "/dev/null", UInt32(IN_DELETE_SELF))
      guard stopWatch >= 0 else {
        defer { close(descriptor) }
        return .failure(FileError(errno, operation: "watch", path: "/dev/null"))
      }
      let reader = InotifyReader(descriptor: descriptor, stopWatch: stopWatch, owner: owner)
      var thread = pthread_t()
      // The thread owns one reference to the reader, which it takes over at its start.
      let context = Unmanaged.passRetained(reader)
      let code = pthread_create(
        &thread, nil,
        { context in
          guard let context else { return nil }
          Unmanaged<InotifyReader>.fromOpaque(context).takeRetainedValue().run()
          return nil
        }, context.toOpaque())
      guard code == 0 else {
        context.release()
        close(descriptor)
        return .failure(FileError(code, operation: "start", path: "a thread for inotify"))
      }
      reader.thread.store(UInt(thread), ordering: .relaxed)
      return .success(reader)
    }

    /// Adds a watch. If the file already has one, its mask is extended: replacing the mask would
    /// lose the events of its other users.
    func add(_ path: ByteString, mask: UInt32) -> Result<Int, FileError> {
      let watch = path.withCString {
        inotify_add_watch(descriptor, $0, mask | Self.additionalMask)
      }
      guard watch >= 0 else {
        return .failure(FileError(errno, operation: "watch", path: path))
      }
      return .success(Int(watch))
    }

    private static let additionalMask = UInt32(IN_MASK_ADD) | UInt32(IN_DONT_FOLLOW)

    func remove(_ watch: Int) {
      inotify_rm_watch(descriptor, Int32(watch))
    }

    /// Ends the thread and closes the descriptor. Call this method once, without any lock.
    func stop() {
      isStopped.store(true, ordering: .releasing)
      // The end of a watch is an event, which wakes the thread without a second descriptor.
      inotify_rm_watch(descriptor, stopWatch)
      pthread_join(pthread_t(thread.load(ordering: .relaxed)), nil)
      close(descriptor)
    }

    private func run() {
      // Other threads of the process handle its signals.
      var signals = sigset_t()
      sigfillset(&signals)
      pthread_sigmask(SIG_SETMASK, &signals, nil)
      let size = 65_536
      let buffer = UnsafeMutableRawBufferPointer.allocate(
        byteCount: size, alignment: MemoryLayout<inotify_event>.alignment)
      defer { buffer.deallocate() }
      var throttle = WakeThrottle()
      while !isStopped.load(ordering: .acquiring) {
        var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        _ = poll(&request, 1, -1)
        throttle.threadDidWake(at: AnyClock.continuous.now)
        let count = read(descriptor, buffer.baseAddress, size)
        if count > 0 {
          owner.take(
            Self.events(in: UnsafeRawBufferPointer(rebasing: buffer[..<count])), from: self)
        }
        if throttle.isBurst { _ = poll(nil, 0, WakeThrottle.pauseMilliseconds) }
        throttle.threadWillWait(at: AnyClock.continuous.now)
      }
    }

    /// Returns the events in a buffer. The kernel writes only complete events.
    private static func events(in bytes: UnsafeRawBufferPointer) -> [Event] {
      let headerSize = MemoryLayout<inotify_event>.size
      var events: [Event] = []
      var offset = 0
      while offset + headerSize <= bytes.count {
        let header = bytes.loadUnaligned(fromByteOffset: offset, as: inotify_event.self)
        let end = offset + headerSize + Int(header.len)
        guard end <= bytes.count else { break }
        let name = bytes[(offset + headerSize)..<end].prefix { $0 != 0 }
        events.append(
          Event(
            watch: Int(header.wd), signal: signal(header.mask),
            name: name.isEmpty ? nil : ByteString(bytes: name),
            isOverflow: header.mask & UInt32(IN_Q_OVERFLOW) != 0,
            isEnd: header.mask & UInt32(IN_IGNORED) != 0))
        offset = end
      }
      return events
    }

    private static func signal(_ mask: UInt32) -> FileSignal {
      var signal: FileSignal = []
      func map(_ bits: Int32, _ meaning: FileSignal) {
        if mask & UInt32(bitPattern: bits) != 0 { signal.formUnion(meaning) }
      }
      map(IN_CLOSE_WRITE, .written)
      map(IN_MODIFY, .modified)
      map(IN_ATTRIB, .attributes)
      map(IN_CREATE, .created)
      map(IN_MOVED_TO, .movedIn)
      map(IN_MOVED_FROM | IN_DELETE, .movedOut)
      map(IN_DELETE_SELF | IN_MOVE_SELF, .displaced)
      map(IN_IGNORED | IN_UNMOUNT | IN_Q_OVERFLOW, .lost)
      return signal
    }
  }

  /// A rule that makes a thread pause if it is woken too often.
  ///
  /// Waking a thread costs the writer of a watched file about as much as a small write. Events that
  /// arrive while no thread waits cost little, and the kernel merges equal events.
  struct WakeThrottle {
    /// The pause within a burst.
    static let pauseMilliseconds: Int32 = 1

    /// The number of wakes that make a burst. A save of a file wakes the thread fewer times.
    private static let burst = 8

    private var wakes = 0
    private var waitsSince: AnyClock.Instant?

    /// A Boolean value that indicates whether the thread was woken many times in a row, each time soon
    /// after it had begun to wait.
    var isBurst: Bool { wakes > Self.burst }

    /// Records that the thread begins to wait.
    mutating func threadWillWait(at now: AnyClock.Instant) { waitsSince = now }

    /// Records that the thread was woken.
    mutating func threadDidWake(at now: AnyClock.Instant) {
      let isSoon = waitsSince.map { $0.duration(to: now) < .milliseconds(1) } ?? false
      wakes = isSoon ? wakes + 1 : 0
    }
  }
#endif
