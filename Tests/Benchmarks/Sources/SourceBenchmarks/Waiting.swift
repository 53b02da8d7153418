import Foundation
import Swappable
import Synchronization

/// Awaits the changes of a source, one by one.
final class Waiter<Source: DataSource>: Sendable {
  private let changes = DispatchSemaphore(value: 0)
  private let last = Atomic<UInt64>(0)
  private let observations = DisposeBag()

  init(_ source: Source) {
    source.observe { [changes, self] event in
      guard case .change = event else { return }
      last.store(Self.now, ordering: .releasing)
      changes.signal()
    }.store(in: observations)
  }

  /// Waits for the next change.
  ///
  /// - Returns: The moment that the observer was called.
  @discardableResult
  func wait() -> UInt64 {
    changes.wait()
    return last.load(ordering: .acquiring)
  }

  /// In nanoseconds.
  static var now: UInt64 { DispatchTime.now().uptimeNanoseconds }
}

/// A folder that is removed in the end.
final class Folder {
  let path: String

  init() {
    path = FileManager.default.temporaryDirectory.path + "/source-benchmarks-\(getpid())"
    try? FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  func path(_ name: String) -> String { path + "/" + name }

  /// Writes what is to take the place of a file.
  func stage(_ contents: Data) {
    guard FileManager.default.createFile(atPath: path("staged"), contents: contents) else {
      preconditionFailure("\(path("staged")) cannot be written")
    }
  }

  /// Puts what was staged in the place of a file, as an atomic save does.
  func publish(_ name: String) {
    precondition(rename(path("staged"), path(name)) == 0, "\(path(name)) cannot be replaced")
  }

  func replace(_ name: String, by contents: Data) {
    stage(contents)
    publish(name)
  }
}

#if os(Linux)
  /// Awaits that somebody has read a file: where nothing is told, this is all there is to see.
  final class ReadWatch {
    private let descriptor = inotify_init1(Int32(IN_CLOEXEC))

    init(_ folder: Folder) {
      let watch = inotify_add_watch(descriptor, folder.path, UInt32(IN_CLOSE_NOWRITE))
      precondition(watch >= 0, "\(folder.path) cannot be watched")
    }

    deinit { close(descriptor) }

    /// Forgets who has read until now.
    func forget() {
      while isDue(within: 50) { readEvents() }
    }

    func wait() {
      precondition(isDue(within: 60_000), "nobody has read the file")
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
