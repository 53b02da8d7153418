/// What the watcher asks of the system; tests put another one in its place.
package struct WatchSystem: Sendable {
  /// One thing that is watched, until it is handed back.
  package struct Token: Sendable, Hashable {
    /// The system's number for the watch.
    package var watch: Int
    /// Which of its users this is.
    package var user: Int
    package var name: String?

    package init(watch: Int, user: Int, name: String?) {
      self.watch = watch
      self.user = user
      self.name = name
    }
  }

  package var files: FileAccess
  package var timer: WatchTimer
  /// Watches a name in a directory, or without a name the file itself.
  ///
  /// The path holds no symbolic links. What happens is told to the receiver, from any thread.
  package var watch:
    @Sendable (_ path: String, _ name: String?, _ receiver: any FileSignalReceiver)
      -> Result<Token, FileFailure>
  package var unwatch: @Sendable ([Token]) -> Void
  /// Whether others than this machine may change files on the device of a directory, which it would
  /// not be told of.
  package var isRemote: @Sendable (_ directory: String, _ device: UInt64) -> Bool

  package init(
    files: FileAccess, timer: WatchTimer,
    watch:
      @escaping @Sendable (
        _ path: String, _ name: String?, _ receiver: any FileSignalReceiver
      ) -> Result<Token, FileFailure>,
    unwatch: @escaping @Sendable ([Token]) -> Void,
    isRemote: @escaping @Sendable (_ directory: String, _ device: UInt64) -> Bool
  ) {
    self.files = files
    self.timer = timer
    self.watch = watch
    self.unwatch = unwatch
    self.isRemote = isRemote
  }

  package static let live = WatchSystem(
    files: .live,
    timer: .live,
    watch: { WatchCenter.shared.watch($0, name: $1, for: $2) },
    unwatch: { WatchCenter.shared.unwatch($0) },
    isRemote: { WatchCenter.isRemote(directory: $0, device: $1) })
}

/// Whoever is told what the system says about a watched path.
package protocol FileSignalReceiver: AnyObject, Sendable {
  /// Takes note; called on the system's own thread, so it returns at once.
  func receive(_ signal: FileSignal)
}
