import Foundation

/// A number that several threads count up.
final class Counter: Sendable {
  private let box = Box(0)

  /// The number now.
  var value: Int { box.value }

  /// Adds one.
  func increment() { box.update { $0 += 1 } }
}

/// A value that several threads share.
final class Box<Value>: @unchecked Sendable {
  // Sendable: `stored` is reached only under `lock`.
  private let lock = NSLock()
  private var stored: Value

  init(_ value: Value) { stored = value }

  /// The value now.
  var value: Value {
    get { lock.withLock { stored } }
    set {
      let old = lock.withLock { () -> Value in
        defer { stored = newValue }
        return stored
      }
      withExtendedLifetime(old) {}
    }
  }

  /// Changes the value in one step.
  func update(_ change: (inout Value) -> Void) { lock.withLock { change(&stored) } }
}
