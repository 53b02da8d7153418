package import Dispatch
package import SwappablePrimitives

/// The services of the system that a watch uses. Tests can replace them.
package struct WatchSystem: Sendable {
  /// The name of a watch for all names in a directory.
  static let anyName: ByteString = ""

  /// One registration of a watch.
  package struct Token: Sendable, Hashable {
    /// The system's number of the watch.
    var watch: Int
    /// The number of this registration.
    var user: Int
    var name: ByteString?
  }

  /// A closure that receives notifications. The system calls it on its own thread, so it returns
  /// without waiting.
  package typealias Receiver = @Sendable (_ signal: FileSignal) -> Void

  package var files: FileAccess
  /// Calls a closure once on a queue, after a delay. The call is canceled if the returned handle is released.
  package var callLater:
    @Sendable (_ delay: Duration, _ queue: DispatchQueue, _ body: @escaping @Sendable () -> Void)
      -> ScheduledTimer
  /// The same for a regular check, which may come a little later.
  package var checkLater:
    @Sendable (_ delay: Duration, _ queue: DispatchQueue, _ body: @escaping @Sendable () -> Void)
      -> ScheduledTimer
  /// The clock of the calls.
  package var now: @Sendable () -> AnyClock.Instant = { AnyClock.continuous.now }
  /// Watches a name in a directory, or the file itself if there is no name.
  ///
  /// The path contains no symbolic links.
  package var watch:
    @Sendable (_ path: ByteString, _ name: ByteString?, _ receiver: @escaping Receiver)
      -> Result<Token, FileError>
  package var unwatch: @Sendable ([Token]) -> Void
  /// Returns a Boolean value that indicates whether files of a directory, or of its device, may change
  /// without a notification because another machine changes them.
  var isRemote: @Sendable (_ directory: ByteString, _ device: UInt64) -> Bool

  /// The services of the machine.
  package static let live = WatchSystem(
    files: .live,
    callLater: { AlarmClock.shared.call(after: $0, on: $1, $2) },
    checkLater: { AlarmClock.shared.call(after: $0, isRegular: true, on: $1, $2) },
    watch: { WatchCenter.shared.watch($0, name: $1, for: $2) },
    unwatch: { WatchCenter.shared.unwatch($0) },
    isRemote: { WatchCenter.isRemote(directory: $0, device: $1) })
}

/// The notifications for a watched path since the last check: a union without order.
package struct FileSignal: OptionSet, Sendable, Hashable {
  package let rawValue: UInt16

  package init(rawValue: UInt16) { self.rawValue = rawValue }

  /// A writer closed the file.
  static let written = FileSignal(rawValue: 1)
  /// The file was written to or truncated.
  static let modified = FileSignal(rawValue: 2)
  /// Attributes or the number of names changed.
  static let attributes = FileSignal(rawValue: 4)
  /// A name on the path was created.
  static let created = FileSignal(rawValue: 8)
  /// A file or directory was moved to a name on the path.
  package static let movedIn = FileSignal(rawValue: 16)
  /// A name on the path was removed.
  static let movedOut = FileSignal(rawValue: 32)
  /// A watched file or directory itself was moved or deleted.
  package static let displaced = FileSignal(rawValue: 64)
  /// The system ended a watch or dropped notifications.
  package static let lost = FileSignal(rawValue: 128)
  /// No notification has arrived. A regular check is due.
  static let poll = FileSignal(rawValue: 256)
  /// Names in a watched directory changed. The system does not report which names.
  static let names = FileSignal(rawValue: 512)
  /// A change that was found without a notification may hide another one, so the file is due to be
  /// read again.
  static let recheck = FileSignal(rawValue: 1024)

  /// A Boolean value that indicates whether the path certainly leads through the same directories to
  /// the same file.
  var keepsPlaces: Bool { isSubset(of: [.written, .modified, .recheck]) }
}

/// The users of the system's watches, with reference counts.
///
/// The table has no side effects. Its owner guards it with a lock and acts outside the lock.
struct WatchTable: Sendable {
  private struct Watch: Sendable {
    var receivers: [Int: WatchSystem.Receiver] = [:]
    /// The users that watch a name in the directory, by name. A user that watches the file itself is
    /// not among them.
    var usersOfName: [ByteString: Set<Int>] = [:]
  }

  private var watches: [Int: Watch] = [:]
  private var lastUser = 0

  var isEmpty: Bool { watches.isEmpty }

  /// Adds a user to a watch.
  mutating func add(
    _ receiver: @escaping WatchSystem.Receiver, to watch: Int, name: ByteString?
  ) -> WatchSystem.Token {
    lastUser += 1
    watches[watch, default: Watch()].receivers[lastUser] = receiver
    if let name { watches[watch]?.usersOfName[name, default: []].insert(lastUser) }
    return WatchSystem.Token(watch: watch, user: lastUser, name: name)
  }

  /// Removes a user.
  ///
  /// - Returns: A Boolean value that indicates whether the watch has no more users and must be ended, and
  ///   the receiver. Release the receiver outside the lock.
  mutating func remove(
    _ token: WatchSystem.Token
  ) -> (wasLast: Bool, receiver: WatchSystem.Receiver?) {
    // In place: copying the set for each of a thousand users would copy a million entries.
    guard let receiver = watches[token.watch]?.receivers.removeValue(forKey: token.user) else {
      return (false, nil)
    }
    if watches[token.watch]?.receivers.isEmpty == true {
      watches[token.watch] = nil
      return (true, receiver)
    }
    if let name = token.name {
      watches[token.watch]?.usersOfName[name]?.remove(token.user)
      if watches[token.watch]?.usersOfName[name]?.isEmpty == true {
        watches[token.watch]?.usersOfName[name] = nil
      }
    }
    return (false, receiver)
  }

  /// Removes a watch that the system has ended, and returns the receivers of its users.
  mutating func removeWatch(_ watch: Int) -> [WatchSystem.Receiver] {
    guard let removed = watches.removeValue(forKey: watch) else { return [] }
    return Array(removed.receivers.values)
  }

  /// Returns the receivers of an event: the users of a name, or all users if the event has no name.
  func receivers(of watch: Int, name: ByteString?) -> [WatchSystem.Receiver] {
    guard let watch = watches[watch] else { return [] }
    guard let name else { return Array(watch.receivers.values) }
    let users = watch.usersOfName[name, default: []]
      .union(watch.usersOfName[WatchSystem.anyName, default: []])
    return users.compactMap { watch.receivers[$0] }
  }

  var allReceivers: [WatchSystem.Receiver] {
    watches.values.flatMap { $0.receivers.values }
  }
}
