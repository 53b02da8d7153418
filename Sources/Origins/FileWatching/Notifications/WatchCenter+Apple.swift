#if canImport(Darwin)
  import Darwin
  import Dispatch
  import SwappablePrimitives

  /// All watches of the process, with one descriptor for each watched file or directory.
  ///
  /// The kernel's queue identifies files by descriptor. It reports that a directory has changed,
  /// but not which name.
  final class WatchCenter: Sendable {
    static let shared = WatchCenter()

    private struct Source: @unchecked Sendable {
      // Sendable: objects of Dispatch may be used from any thread.
      var object: any DispatchSourceFileSystemObject
      var identity: FileIdentity
    }

    private struct State {
      var table = WatchTable()
      var sources: [Int: Source] = [:]
      var watchOfFile: [FileIdentity: Int] = [:]
      var lastWatch = 0
    }

    private let state = Locked(State())
    private let queue = DispatchQueue(label: "swappable.file-watch.center")

    /// Adds a watch, or another user of an existing watch. All paths of one directory share a
    /// watch.
    func watch(
      _ path: ByteString, name: ByteString?, for receiver: @escaping WatchSystem.Receiver
    ) -> Result<WatchSystem.Token, FileError> {
      let descriptor = path.withCString { open($0, O_EVTONLY | O_CLOEXEC | O_SYMLINK) }
      guard descriptor >= 0 else {
        return .failure(FileError(errno, operation: "watch", path: path))
      }
      let stamp: FileStamp
      switch FileAccess.stampOfDescriptor(descriptor, path: path) {
      case .success(let found): stamp = found
      case .failure(let failure):
        close(descriptor)
        return .failure(failure)
      }
      let (token, isShared) = state.withLock { state -> (WatchSystem.Token, Bool) in
        if let watch = state.watchOfFile[stamp.identity] {
          return (state.table.add(receiver, to: watch, name: name), true)
        }
        state.lastWatch += 1
        let watch = state.lastWatch
        state.sources[watch] = makeSource(
          descriptor, watch: watch, identity: stamp.identity,
          isDirectory: stamp.kind == .directory)
        state.watchOfFile[stamp.identity] = watch
        return (state.table.add(receiver, to: watch, name: name), false)
      }
      if isShared { close(descriptor) }
      return .success(token)
    }

    func unwatch(_ tokens: [WatchSystem.Token]) {
      let (receivers, ended) = state.withLock { state in
        var receivers: [WatchSystem.Receiver] = []
        var ended: [Source] = []
        for token in tokens {
          let (wasLast, receiver) = state.table.remove(token)
          if let receiver { receivers.append(receiver) }
          if wasLast, let source = Self.takeSource(of: token.watch, from: &state) {
            ended.append(source)
          }
        }
        return (receivers, ended)
      }
      for source in ended { source.object.cancel() }
      withExtendedLifetime(receivers) {}
    }

    private func makeSource(
      _ descriptor: Int32, watch: Int, identity: FileIdentity, isDirectory: Bool
    ) -> Source {
      let object = DispatchSource.makeFileSystemObjectSource(
        fileDescriptor: descriptor,
        eventMask: [.write, .extend, .attrib, .delete, .rename, .link, .revoke], queue: queue)
      // Only the state retains the source. The handler must not retain it.
      object.setEventHandler { [weak self, weak object] in
        guard let self, let object else { return }
        take(object.data, of: watch, isDirectory: isDirectory)
      }
      // The number of the descriptor may be reused only after this.
      object.setCancelHandler { close(descriptor) }
      object.resume()
      return Source(object: object, identity: identity)
    }

    private func take(
      _ event: DispatchSource.FileSystemEvent, of watch: Int, isDirectory: Bool
    ) {
      var signal: FileSignal = []
      if !event.isDisjoint(with: [.write, .extend, .link]) {
        signal.formUnion(isDirectory ? .names : .modified)
      }
      if !event.isDisjoint(with: [.attrib, .link]) { signal.formUnion(.attributes) }
      if event.contains(.rename) { signal.formUnion(.displaced) }
      // A name was removed, perhaps the last one. The receivers resolve their paths again.
      let isEnd = !event.isDisjoint(with: [.delete, .revoke])
      if isEnd { signal.formUnion([.displaced, .lost]) }
      let (receivers, ended) = state.withLock {
        state -> ([WatchSystem.Receiver], Source?) in
        if isEnd {
          return (state.table.removeWatch(watch), Self.takeSource(of: watch, from: &state))
        }
        return (state.table.receivers(of: watch, name: nil), nil)
      }
      ended?.object.cancel()
      for receiver in receivers { receiver(signal) }
    }

    private static func takeSource(of watch: Int, from state: inout State) -> Source? {
      guard let source = state.sources.removeValue(forKey: watch) else { return nil }
      state.watchOfFile[source.identity] = nil
      return source
    }

    /// Returns a Boolean value that indicates whether other machines can write to a directory's
    /// file system.
    static func isRemote(directory: ByteString, device _: UInt64) -> Bool {
      var status = statfs()
      guard directory.withCString({ statfs($0, &status) }) == 0 else { return false }
      return status.f_flags & UInt32(MNT_LOCAL) == 0
    }
  }
#endif
