package import Dispatch
import SwappablePrimitives

/// A watch that reports the changes of the file at a path, until it is canceled or released.
///
/// The path need not exist: the nearest existing directory is watched. Symbolic links are followed,
/// and each link on the path is watched. Events that arrive while one is being delivered are joined
/// into one.
package final class FileWatch: Sendable {
  package struct Intervals: Sendable, Hashable {
    /// The interval of checks if the system notifies of changes. It does not notify of all changes.
    package var safety: Duration
    /// The interval of checks if the system does not notify of changes.
    package var polling: Duration

    package init(safety: Duration = .seconds(1), polling: Duration = .milliseconds(250)) {
      self.safety = safety
      self.polling = polling
    }
  }

  private let core: FileWatchCore

  /// Begins to watch a path. All changes after the initializer returns are reported.
  ///
  /// - Parameters:
  ///   - path: The path: absolute, or relative to the current working directory.
  ///   - queue: A serial queue on which `onEvent` is called, or `nil` for a queue of its own.
  ///   - intervals: The intervals of checks that need no notification.
  ///   - system: The source of files, time and notifications.
  ///   - onEvent: A closure that is called for each event, one after the other, without any lock.
  ///     It may cancel or release the watch.
  package init(
    path: String, queue: DispatchQueue? = nil, intervals: Intervals = Intervals(),
    system: WatchSystem = .live, onEvent: @escaping @Sendable (FileEvent) -> Void
  ) {
    core = FileWatchCore(
      path: absolutePath(path),
      queue: queue ?? DispatchQueue(label: "swappable.file-watch"),
      intervals: intervals, system: system, handler: onEvent)
    core.start()
  }

  deinit { core.cancel() }

  /// The state of the file when it was last checked.
  package var state: FileState { core.fileState }

  /// The reason for polling and its interval, or `nil` if the system notifies of changes.
  package var diagnostic: String? { core.diagnostic }

  /// Ends the watch. No call of the closure begins afterwards, but a call that another thread has
  /// begun may still finish.
  package func cancel() { core.cancel() }
}
