import Dispatch

/// A queue for work that waits for a disk. It keeps such work off the threads that tasks share.
struct WorkQueue: Sendable {
  private let queue: DispatchQueue

  /// Creates a queue.
  ///
  /// - Parameters:
  ///   - label: The name of the queue for debugging.
  ///   - isSerial: A Boolean value that indicates whether the queue does one piece of work at a time.
  init(_ label: String, isSerial: Bool) {
    queue = DispatchQueue(label: label, attributes: isSerial ? [] : .concurrent)
  }

  func run<Result: Sendable>(
    _ body: @escaping @Sendable () throws -> Result
  ) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
      queue.async { continuation.resume(with: Swift.Result { try body() }) }
    }
  }
}
