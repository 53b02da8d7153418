import Foundation
import Swappable
import Synchronization

/// A waiter for the changes of a source.
final class Waiter<Source: DataSource>: Sendable {
  /// The observer captures this object instead of the waiter. Otherwise, a reference cycle would keep the
  /// source alive.
  private final class Changes: Sendable {
    let semaphore = DispatchSemaphore(value: 0)
    let last = Atomic<UInt64>(0)
  }

  private let changes = Changes()
  private let observation: Disposable

  init(_ source: Source) {
    observation = source.observe { [changes] event in
      // If the source loads before it is observed, there is no change.
      if case .initial = event, event.snapshot.isEmpty { return }
      changes.last.store(DispatchTime.now().uptimeNanoseconds, ordering: .releasing)
      changes.semaphore.signal()
    }
  }

  /// Waits for the next change.
  ///
  /// - Returns: The time of the call of the observer, in nanoseconds.
  @discardableResult
  func wait() -> UInt64 {
    changes.semaphore.wait()
    return changes.last.load(ordering: .acquiring)
  }
}

/// A folder that is removed with its last reference.
final class Folder {
  let path: String

  init() {
    path = FileManager.default.temporaryDirectory.path + "/source-benchmarks-\(getpid())"
    try? FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  func path(_ name: String) -> String { path + "/" + name }

  /// Writes a file that will replace another one.
  func stage(_ contents: Data) {
    guard FileManager.default.createFile(atPath: path("staged"), contents: contents) else {
      preconditionFailure("\(path("staged")) cannot be written")
    }
  }

  /// Replaces a file with the staged file, like an atomic save.
  func publish(_ name: String) {
    precondition(rename(path("staged"), path(name)) == 0, "\(path(name)) cannot be replaced")
  }

  func replace(_ name: String, by contents: Data) {
    stage(contents)
    publish(name)
  }
}

#if os(Linux)
  /// Waits until a file was read, for saves that cause no event.
  final class ReadWatch {
    private let descriptor = inotify_init1(Int32(IN_CLOEXEC))

    init(_ folder: Folder) {
      let watch = inotify_add_watch(descriptor, folder.path, UInt32(IN_CLOSE_NOWRITE))
      precondition(watch >= 0, "\(folder.path) cannot be watched")
    }

    deinit { close(descriptor) }

    /// Discards the reads until now.
    func forget() {
      while isDue(within: 50) { readEvents() }
    }

    func wait() {
      precondition(isDue(within: 60_000), "the source must read the file within a minute")
      readEvents()
    }

    private func isDue(within milliseconds: Int32) -> Bool {
      var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      return poll(&request, 1, milliseconds) > 0
    }

    private func readEvents() {
      withUnsafeTemporaryAllocation(byteCount: 4_096, alignment: 8) {
        _ = read(descriptor, $0.baseAddress, $0.count)
      }
    }
  }
#endif
