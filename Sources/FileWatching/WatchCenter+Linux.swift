#if !canImport(Darwin)
  import Glibc
  import SwappablePrimitives

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

    init() {}

    /// The inotify descriptor, while there are watches.
    var descriptor: Int32? { state.withLock { $0.reader?.descriptor } }

    /// Adds a watch, or another user of an existing watch.
    ///
    /// The system identifies watches by inode, so all paths of one directory share a watch.
    func watch(
      _ path: String, name: String?, for receiver: any FileSignalReceiver
    ) -> Result<WatchSystem.Token, FileFailure> {
      let (result, idle) = state.withLock {
        state -> (Result<WatchSystem.Token, FileFailure>, InotifyReader?) in
        let reader: InotifyReader
        if let running = state.reader {
          reader = running
        } else {
          switch InotifyReader.start(for: self) {
          case .success(let started): reader = started
          case .failure(let failure): return (.failure(failure), nil)
          }
          state.reader = reader
        }
        switch reader.add(path, mask: name == nil ? Self.fileMask : Self.directoryMask) {
        case .success(let watch):
          return (.success(state.table.add(receiver, to: watch, name: name)), nil)
        case .failure(let failure):
          return (.failure(failure), Self.takeIdleReader(&state))
        }
      }
      idle?.stop()
      return result
    }

    func unwatch(_ tokens: [WatchSystem.Token]) {
      let (released, idle) = state.withLock { state in
        var released: [any FileSignalReceiver] = []
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
      let calls = state.withLock { state -> [(any FileSignalReceiver, FileSignal)] in
        // A reader that is being stopped knows nothing of the present reader's watches.
        guard state.reader === reader else { return [] }
        var calls: [(any FileSignalReceiver, FileSignal)] = []
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
      for (receiver, signal) in calls { receiver.receive(signal) }
    }

    private static func takeIdleReader(_ state: inout State) -> InotifyReader? {
      guard state.table.isEmpty else { return nil }
      defer { state.reader = nil }
      return state.reader
    }

    private static let fileMask = UInt32(
      IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF)
    private static let directoryMask = UInt32(
      IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ATTRIB | IN_DELETE_SELF
        | IN_MOVE_SELF)

    /// Returns a Boolean value that indicates whether other machines can write to a device's file
    /// system, or another process provides it.
    static func isRemote(directory _: String, device: UInt64) -> Bool {
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
#endif
