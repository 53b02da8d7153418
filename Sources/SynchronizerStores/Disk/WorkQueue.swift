import Dispatch

/// Where work is done that waits for a disk: not on the threads that tasks share.
struct WorkQueue: Sendable {
  private let queue: DispatchQueue

  /// - Parameter isSerial: Whether one piece of work waits for the end of the one before.
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
