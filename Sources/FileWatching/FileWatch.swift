package import Dispatch
import SwappablePrimitives

/// Tells what happens to the file at a path, for as long as it is kept.
///
/// The path need not exist: the nearest directory that does is watched. Symbolic links are followed,
/// and watched on the way. Events that come while one is being delivered are joined into one.
package final class FileWatch: Sendable {
  package struct Intervals: Sendable, Hashable {
    /// How often to look although the system tells of changes: it does not tell of all.
    package var safety: Duration
    /// How often to look where it does not tell.
    package var polling: Duration

    package init(safety: Duration = .seconds(1), polling: Duration = .milliseconds(250)) {
      self.safety = safety
      self.polling = polling
    }
  }

  private let core: FileWatchCore

  /// Begins to watch: whatever changes after this has returned is told.
  ///
  /// - Parameters:
  ///   - path: absolute, or relative to the working directory of this moment.
  ///   - queue: a serial queue on which `onEvent` is called; without one the watch has its own.
  ///   - intervals: how often to look without having been told.
  ///   - system: where files, time and the system's notifications come from.
  ///   - onEvent: called for each event, one after the other, with nothing locked. It may cancel the
  ///     watch or let go of it.
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

  /// What stood at the path when it was last looked at.
  package var state: FileState { core.fileState }

  /// Why and how often it polls; nil where the system tells of changes.
  package var diagnostic: String? { core.diagnostic }

  /// Ends the watch: no call begins after this has returned; one begun by another thread may run on.
  package func cancel() { core.cancel() }
}
