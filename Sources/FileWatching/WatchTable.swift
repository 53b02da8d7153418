/// Who waits for what: reference counts of the system's watches.
///
/// A value without side effects, so that its owner can guard it by a lock and act outside of it.
struct WatchTable: Sendable {
  private struct Watch: Sendable {
    var receivers: [Int: any FileSignalReceiver] = [:]
    /// The users of each name; those who watch the file itself have none.
    var usersOfName: [String: Set<Int>] = [:]
  }

  private var watches: [Int: Watch] = [:]
  private var lastUser = 0

  var isEmpty: Bool { watches.isEmpty }

  func contains(_ watch: Int) -> Bool { watches[watch] != nil }

  /// Adds a user of a watch.
  mutating func add(
    _ receiver: any FileSignalReceiver, to watch: Int, name: String?
  ) -> WatchSystem.Token {
    lastUser += 1
    watches[watch, default: Watch()].receivers[lastUser] = receiver
    if let name { watches[watch]?.usersOfName[name, default: []].insert(lastUser) }
    return WatchSystem.Token(watch: watch, user: lastUser, name: name)
  }

  /// Takes out a user.
  ///
  /// - Returns: whether it was the last one of its watch, which then has to be ended, and the
  ///   receiver, to be released outside of locks.
  mutating func remove(
    _ token: WatchSystem.Token
  ) -> (wasLast: Bool, receiver: (any FileSignalReceiver)?) {
    // In place: a copy of the set for each of a thousand users would be a million copies.
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

  /// Takes out a watch that the system has ended by itself, and returns all who used it.
  mutating func removeWatch(_ watch: Int) -> [any FileSignalReceiver] {
    guard let removed = watches.removeValue(forKey: watch) else { return [] }
    return Array(removed.receivers.values)
  }

  /// Those whom an event concerns: about a name, its users; about the watched thing, all.
  func receivers(of watch: Int, name: String?) -> [any FileSignalReceiver] {
    guard let watch = watches[watch] else { return [] }
    guard let name else { return Array(watch.receivers.values) }
    return watch.usersOfName[name, default: []].compactMap { watch.receivers[$0] }
  }

  var allReceivers: [any FileSignalReceiver] {
    watches.values.flatMap { $0.receivers.values }
  }
}
