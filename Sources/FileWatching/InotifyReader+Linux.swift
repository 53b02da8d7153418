#if !canImport(Darwin)
  import Glibc
  import SwappablePrimitives
  import Synchronization

  /// An inotify descriptor and the thread that reads it.
  ///
  /// All methods except `stop()` are called under the owner's lock or by the reader's own thread.
  final class InotifyReader: Sendable {
    struct Event {
      var watch: Int
      var signal: FileSignal
      var name: String?
      /// A Boolean value that indicates whether the kernel's queue was full. Events of any watch
      /// may be lost.
      var isOverflow: Bool
      /// A Boolean value that indicates whether the kernel has ended the watch.
      var isEnd: Bool
    }

    let descriptor: Int32
    private let owner: WatchCenter
    private let clock: AnyClock
    private let isStopped = Atomic<Bool>(false)
    /// The thread, or 0 before it runs.
    private let thread = Atomic<UInt>(0)

    private init(descriptor: Int32, owner: WatchCenter, clock: AnyClock) {
      self.descriptor = descriptor
      self.owner = owner
      self.clock = clock
    }

    /// Creates a reader and starts its thread.
    ///
    /// - Parameters:
    ///   - owner: The center that receives the events.
    ///   - clock: The clock that measures bursts.
    static func start(
      for owner: WatchCenter, clock: AnyClock = .continuous
    ) -> Result<InotifyReader, FileFailure> {
      let descriptor = inotify_init1(Int32(IN_CLOEXEC) | Int32(IN_NONBLOCK))
      guard descriptor >= 0 else {
        return .failure(FileFailure(errno, operation: "open", path: "an inotify descriptor"))
      }
      let reader = InotifyReader(descriptor: descriptor, owner: owner, clock: clock)
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
        return .failure(FileFailure(code, operation: "start", path: "a thread for inotify"))
      }
      reader.thread.store(UInt(thread), ordering: .relaxed)
      return .success(reader)
    }

    /// Adds a watch. If the file already has one, its mask is extended: replacing the mask would
    /// lose the events of its other users.
    func add(_ path: String, mask: UInt32) -> Result<Int, FileFailure> {
      let watch = inotify_add_watch(descriptor, path, mask | Self.additionalMask)
      guard watch >= 0 else {
        return .failure(FileFailure(errno, operation: "watch", path: path))
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
      let watch = inotify_add_watch(descriptor, "/", UInt32(IN_DELETE_SELF))
      if watch >= 0 { inotify_rm_watch(descriptor, watch) }
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
      var calm = BurstCalm()
      while !isStopped.load(ordering: .acquiring) {
        var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        // The timeout ends the wait if `stop()` cannot add the watch that wakes the thread.
        _ = poll(&request, 1, 1_000)
        calm.woken(at: clock.now)
        let count = read(descriptor, buffer.baseAddress, size)
        if count > 0 {
          owner.take(
            Self.events(in: UnsafeRawBufferPointer(rebasing: buffer[..<count])), from: self)
        }
        if calm.isBurst { _ = poll(nil, 0, BurstCalm.napMilliseconds) }
        calm.waits(at: clock.now)
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
            name: name.isEmpty ? nil : String(decoding: name, as: UTF8.self),
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
#endif
