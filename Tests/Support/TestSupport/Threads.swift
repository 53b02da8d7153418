package import DataSourceTesting
import Diffing
import Dispatch
import Foundation
package import ObservableCollections
import ReactiveSignals
import SwappablePrimitives

/// A new thread, which a test may hold.
package final class Worker: Sendable {
  private let finished = DispatchSemaphore(value: 0)

  /// Creates a thread.
  ///
  /// - Parameter stackSize: The size of its stack in bytes, or `nil` for the usual one.
  package init(stackSize: Int? = nil, _ body: @escaping @Sendable () -> Void) {
    let thread = Thread { [finished] in
      body()
      finished.signal()
    }
    if let stackSize { thread.stackSize = stackSize }
    thread.start()
  }

  /// Waits for the end of the thread. A wait of five minutes is reported as a deadlock.
  package func join() throws {
    guard finished.wait(timeout: .now() + 300) == .success else {
      throw TimeoutError("waited five minutes for a thread to end: a deadlock")
    }
    finished.signal()
  }

  /// Runs a closure on a new thread, and proves that it does not wait for the caller.
  package static func run(
    stackSize: Int? = nil, _ body: @escaping @Sendable () -> Void
  ) throws {
    try Worker(stackSize: stackSize, body).join()
  }
}

/// A value that threads share.
package final class Shared<Value: Sendable>: Sendable {
  private let state: Locked<Value>

  package init(_ value: Value) {
    state = Locked(value)
  }

  package var value: Value {
    get { state.withLock { $0 } }
    set { exchange(newValue) }
  }

  /// Sets the value, and releases the old one outside the lock.
  @discardableResult
  package func exchange(_ value: Value) -> Value {
    state.withLock { state in
      let old = state
      state = value
      return old
    }
  }

  @discardableResult
  package func modify<Result>(_ body: (inout Value) -> Result) -> Result {
    state.withLock { body(&$0) }
  }
}

package typealias Log<Entry: Sendable> = Shared<[Entry]>

extension Shared {
  package convenience init<Entry>() where Value == [Entry] { self.init([]) }

  package func append<Entry>(_ entry: Entry) where Value == [Entry] {
    modify { $0.append(entry) }
  }
}

/// A gate between two threads.
package final class Signpost: Sendable {
  private let semaphore = DispatchSemaphore(value: 0)

  package init() {}

  package func open() { semaphore.signal() }

  /// Waits until it is open, and leaves it open. A wait of five minutes ends the process: it is a deadlock, and each thread
  /// that waits for this one would only hang as well.
  package func pass(file: StaticString = #fileID, line: UInt = #line) {
    guard semaphore.wait(timeout: .now() + 300) == .success else {
      fatalError("waited five minutes for another thread: a deadlock", file: file, line: line)
    }
    semaphore.signal()
  }
}

package typealias Items = ArrayDataSource<TestElement>

package struct Refusal: Error, Equatable {
  package init() {}
}

/// An object that calls a closure when it is released.
package final class Token: Sendable {
  private let onDeinit: @Sendable () -> Void

  package init(_ onDeinit: @escaping @Sendable () -> Void = {}) {
    self.onDeinit = onDeinit
  }

  deinit { onDeinit() }
}

/// An element that calls code of its user in each comparison.
package struct Meddler: Differentiable, Sendable, CustomStringConvertible {
  package let id: Int
  package var content = 0
  package var token = Token()
  /// A closure that each comparison and each read of the identity calls.
  package var meddle: @Sendable () -> Void = {}

  package init(
    id: Int, content: Int = 0, token: Token = Token(), meddle: @escaping @Sendable () -> Void = {}
  ) {
    self.id = id
    self.content = content
    self.token = token
    self.meddle = meddle
  }

  package var differenceIdentifier: Int {
    meddle()
    return id
  }

  package func isContentEqual(to source: Meddler) -> Bool {
    meddle()
    source.meddle()
    return content == source.content
  }

  package var description: String { "\(id).\(content)" }
}

extension CollectionEvent where Element == TestElement {
  /// The event in short: `0:[1, 2]` for an initial event, `0-1:[1]` for a change.
  package var brief: String {
    switch self {
    case .initial(let snapshot, let revision): "\(revision):\(snapshot)"
    case .change(let change): "\(change.revisionBefore)-\(change.revision):\(change.after)"
    }
  }
}
