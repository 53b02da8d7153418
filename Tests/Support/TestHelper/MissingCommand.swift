import Dispatch
import Foundation
import SQLiteSources
import Swappable

/// `missing COUNT DIRECTORY`: observes COUNT databases of a directory that do not exist.
///
/// It creates all sources at once, waits until each of them has looked for its database, and then
/// answers with the largest number of threads that it has counted. After the first line of the input, which
/// follows the creation of all databases, it waits until each source has loaded, and answers again.
///
/// It is a separate process, because other tests use threads, too.
func runMissingCommand(_ arguments: [String]) -> Int32 {
  guard arguments.count == 2, let count = Int(arguments[0]) else {
    answer("error: missing needs a number and a directory")
    return 2
  }
  answer("ok")
  let threads = ThreadCount()
  let (missing, loaded) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
  do {
    let sources = try (0..<count).map { number in
      try SQLiteDataSource<Todo>(
        path: "\(arguments[1])/\(number).db", sql: "SELECT id, title FROM todo")
    }
    let observations = sources.map { source in
      source.observeStatus { status in
        threads.count()
        if status.state == .loaded { loaded.signal() }
      }
    }
    for source in sources {
      Task {
        // The status may be `missing` before the first read, so wait for the read itself.
        await source.refresh()
        missing.signal()
      }
    }
    for _ in 0..<count { missing.wait() }
    answer(threads.line)
    _ = readLine()
    for _ in 0..<count { loaded.wait() }
    answer(threads.line)
    withExtendedLifetime(observations) {}
    return 0
  } catch {
    answer("error: \(error)")
    return 1
  }
}

/// The largest number of threads of this process that was counted.
private final class ThreadCount: @unchecked Sendable {
  // Sendable: `largest` is used only with the lock.
  private let lock = NSLock()
  private var largest = 0

  func count() {
    let tasks = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")
    lock.withLock { largest = max(largest, tasks?.count ?? 0) }
  }

  var line: String {
    count()
    return lock.withLock { "\(largest)" }
  }
}
