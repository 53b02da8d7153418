import DataSourceTesting
import Diffing
import Dispatch
import Foundation
import ObservableCollections
import ReactiveSignals

/// A thread of its own, so that a test may hold it.
final class Worker: Sendable {
  private let finished = DispatchSemaphore(value: 0)

  init(_ body: @escaping @Sendable () -> Void) {
    Thread.detachNewThread { [finished] in
      body()
      finished.signal()
    }
  }

  /// Waits for the end of the thread; what takes a minute is a deadlock.
  func join() throws {
    guard finished.wait(timeout: .now() + 60) == .success else {
      throw WaitTimeout("waited a minute for a thread to end: a deadlock")
    }
    finished.signal()
  }

  /// Runs something on a thread of its own, and proves that it does not wait for the caller.
  static func run(_ body: @escaping @Sendable () -> Void) throws {
    try Worker(body).join()
  }
}

/// A value that threads share.
final class Shared<Value: Sendable>: Sendable {
  private let state: Locked<Value>

  init(_ value: Value) {
    state = Locked(value)
  }

  var value: Value {
    get { state.withLock { $0 } }
    set { exchange(newValue) }
  }

  /// Sets the value; the old one is released unlocked.
  @discardableResult
  func exchange(_ value: Value) -> Value {
    state.withLock { state in
      let old = state
      state = value
      return old
    }
  }

  @discardableResult
  func modify<Result>(_ body: (inout Value) -> Result) -> Result {
    state.withLock { body(&$0) }
  }
}

typealias Log<Entry: Sendable> = Shared<[Entry]>

extension Shared {
  func append<Entry>(_ entry: Entry) where Value == [Entry] {
    modify { $0.append(entry) }
  }
}

/// A gate between two threads.
final class Signpost: Sendable {
  private let semaphore = DispatchSemaphore(value: 0)

  func open() { semaphore.signal() }

  /// Waits until it is open, and leaves it open; false after a minute.
  @discardableResult
  func pass() -> Bool {
    guard semaphore.wait(timeout: .now() + 60) == .success else { return false }
    semaphore.signal()
    return true
  }
}

typealias Items = CollectionProperty<TestElement>

struct Refusal: Error, Equatable {}

/// Tells when it is let go.
final class Token: Sendable {
  private let onDeinit: @Sendable () -> Void

  init(_ onDeinit: @escaping @Sendable () -> Void = {}) {
    self.onDeinit = onDeinit
  }

  deinit { onDeinit() }
}

/// An element that runs code of its user wherever it can.
struct Meddler: Differentiable, Sendable, CustomStringConvertible {
  let id: Int
  var content = 0
  var token = Token()
  /// Run by each comparison and each look at the identity.
  var meddle: @Sendable () -> Void = {}

  var differenceIdentifier: Int {
    meddle()
    return id
  }

  func isContentEqual(to source: Meddler) -> Bool {
    meddle()
    source.meddle()
    return content == source.content
  }

  var description: String { "\(id).\(content)" }
}

extension CollectionEvent where Element == TestElement {
  /// The event in short: `0:[1, 2]` the initial, `0-1:[1]` a change.
  var brief: String {
    switch self {
    case .initial(let snapshot, let revision): "\(revision):\(snapshot)"
    case .change(let change): "\(change.revisionBefore)-\(change.revision):\(change.after)"
    }
  }
}
