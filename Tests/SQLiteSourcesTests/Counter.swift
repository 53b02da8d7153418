import Foundation

/// A number that several threads count up.
final class Counter: @unchecked Sendable {
  // Sendable: `count` is reached only under `lock`.
  private let lock = NSLock()
  private var count = 0

  /// The number now.
  var value: Int { lock.withLock { count } }

  /// Adds one.
  func increment() { lock.withLock { count += 1 } }
}
