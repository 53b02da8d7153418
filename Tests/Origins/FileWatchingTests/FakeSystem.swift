import SwappablePrimitives
import TestSupport
import Dispatch
import ReactiveSignals

@testable import FileWatching

/// A file system, timers and notifications that a test controls.
final class FakeSystem: Sendable {
  private struct State: Sendable {
    var stamps: [ByteString: FileStamp] = [:]
    var links: [ByteString: ByteString] = [:]
    var denied: FileError?
    var receivers: [Int: (path: ByteString, name: ByteString?, receiver: WatchSystem.Receiver)] =
      [:]
    var lastUser = 0
    var timers: [Int: Timer] = [:]
    var lastTimer = 0
    var now = AnyClock.Instant(offset: .zero)
  }

  struct Timer: Sendable {
    var delay: Duration
    var queue: DispatchQueue
    var body: @Sendable () -> Void
  }

  private let state = Locked(State())

  init() { setDirectory("/") }

  func setFile(_ path: ByteString, inode: UInt64, size: Int64 = 1, time: Int64 = 1) {
    set(path, .regular, inode: inode, size: size, time: time)
  }

  func setDirectory(_ path: ByteString) {
    set(path, .directory, inode: UInt64(path.bytes.count), size: 0, time: 0)
  }

  func setLink(_ path: ByteString, to destination: ByteString) {
    set(path, .symbolicLink, inode: UInt64(path.bytes.count), size: 0, time: 0)
    state.withLock { $0.links[path] = destination }
  }

  private func set(
    _ path: ByteString, _ kind: FileStamp.Kind, inode: UInt64, size: Int64, time: Int64
  ) {
    let stamp = FileStamp(
      identity: FileIdentity(device: 1, inode: inode), kind: kind, size: size, modified: time,
      changed: time)
    state.withLock { $0.stamps[path] = stamp }
  }

  func remove(_ path: ByteString) { state.withLock { $0.stamps[path] = nil } }

  /// Refuses all new watches with an error, or allows them again if the error is `nil`.
  func deny(_ failure: FileError?) { state.withLock { $0.denied = failure } }

  /// The watched names, as `directory:name`, and the watched files.
  var watched: Set<String> {
    state.withLock { state in
      Set(state.receivers.values.map { "\($0.path)" + ($0.name.map { ":\($0)" } ?? "") })
    }
  }

  var registrationCount: Int { state.withLock { $0.receivers.count } }

  /// The number of active timers.
  var timerCount: Int { state.withLock { $0.timers.count } }

  /// Sends a notification to all receivers of a path.
  func send(_ signal: FileSignal, to path: ByteString) {
    let receivers = state.withLock { state in
      state.receivers.values.filter { $0.path == path }.map(\.receiver)
    }
    for receiver in receivers { receiver(signal) }
  }

  /// Fires all timers, and returns their delays.
  @discardableResult
  func fireTimers() -> [Duration] {
    let timers = state.withLock { state in
      defer { state.timers = [:] }
      state.now = state.now.advanced(by: state.timers.values.map(\.delay).max() ?? .zero)
      return state.timers.sorted { $0.key < $1.key }.map(\.value)
    }
    for timer in timers { timer.queue.sync { timer.body() } }
    return timers.map(\.delay)
  }

  private func callLater(
    _ delay: Duration, _ queue: DispatchQueue, _ body: @escaping @Sendable () -> Void
  ) -> ScheduledTimer {
    let number = state.withLock { state in
      state.lastTimer += 1
      state.timers[state.lastTimer] = Timer(delay: delay, queue: queue, body: body)
      return state.lastTimer
    }
    return ScheduledTimer {
      let cancelled = self.state.withLock { $0.timers.removeValue(forKey: number) }
      withExtendedLifetime(cancelled) {}
    }
  }

  var system: WatchSystem {
    WatchSystem(
      files: FileAccess(
        stamp: { path in
          self.state.withLock { $0.stamps[path] }.map { .success($0) }
            ?? .failure(.missing(path))
        },
        readLink: { path in
          self.state.withLock { $0.links[path] }.map { .success($0) } ?? .failure(.missing(path))
        },
        open: { .failure(.missing($0)) }),
      callLater: { self.callLater($0, $1, $2) },
      checkLater: { self.callLater($0, $1, $2) },
      now: { self.state.withLock { $0.now } },
      watch: { path, name, receiver in
        self.state.withLock { state in
          if let failure = state.denied { return .failure(failure) }
          state.lastUser += 1
          state.receivers[state.lastUser] = (path, name, receiver)
          return .success(WatchSystem.Token(watch: 1, user: state.lastUser, name: name))
        }
      },
      unwatch: { tokens in
        let released = self.state.withLock { state in
          tokens.map { state.receivers.removeValue(forKey: $0.user) }
        }
        withExtendedLifetime(released) {}
      },
      isRemote: { directory, _ in directory.hasPrefix("/net") })
  }
}

extension FileError {
  static func missing(_ path: ByteString) -> FileError {
    FileError(cause: .missing, operation: "find", path: path, code: 2, reason: "not there")
  }

  static let limit = FileError(
    cause: .limit, operation: "watch", path: "/a", code: 28, reason: "No space left on device")
}
