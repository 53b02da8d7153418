import Dispatch
import FileWatching

/// How a monitor is told that files were touched; a struct of closures, so that tests can do it.
struct DatabaseWatch: Sendable {
  /// A watch that has begun.
  struct Running: Sendable {
    /// Ends it.
    var end: @Sendable () -> Void
    /// Why the system does not tell of changes; `nil` where it does.
    var diagnostic: @Sendable () -> String?
  }

  /// Watches the database at a path until it is ended.
  var start: @Sendable (_ path: String, _ onHint: @escaping @Sendable () -> Void) -> Running

  /// Watches nothing: the steady look has to find everything.
  static let none = DatabaseWatch { _, _ in Running(end: {}, diagnostic: { nil }) }

  /// Watches the files that a commit touches.
  static let files = DatabaseWatch { path, onHint in
    let queue = DispatchQueue(label: "swappable.sqlite.watch")
    let watches = watchedSuffixes.map { suffix in
      FileWatch(path: path + suffix, queue: queue) { _ in onHint() }
    }
    return Running(
      end: { for watch in watches { watch.cancel() } },
      // A journal comes and goes with each commit, at times faster than it can be watched; only
      // what also holds for the file that stays is worth telling.
      diagnostic: { watches.first?.diagnostic })
  }
}
