public import Dispatch

/// Where an observer is called.
public struct DeliveryScheduler: Sendable {
  /// A closure that runs work elsewhere, or `nil` to run it immediately on the delivering thread.
  package let schedule: (@Sendable (@escaping @Sendable () -> Void) -> Void)?

  /// Calls the observer on the delivering thread, in order with all other immediate observers.
  public static let immediate = DeliveryScheduler(schedule: nil)

  /// Calls the observer on the main actor.
  public static let mainActor = DeliveryScheduler { work in
    Task { @MainActor in work() }
  }

  /// Calls the observer on a dispatch queue, serial or concurrent.
  ///
  /// The observer is never called concurrently with itself or out of order.
  public static func queue(_ queue: DispatchQueue) -> DeliveryScheduler {
    DeliveryScheduler { work in queue.async(execute: work) }
  }

  /// Creates a scheduler from a closure.
  ///
  /// - Parameter schedule: A closure that runs the work it receives once, now or later, on any thread. It
  ///   receives the next work after the previous work has run.
  public init(_ schedule: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void) {
    self.schedule = schedule
  }

  private init(schedule: (@Sendable (@escaping @Sendable () -> Void) -> Void)?) {
    self.schedule = schedule
  }
}

/// How pending events of an observer are buffered.
public enum DeliveryPolicy: Sendable, Hashable {
  /// All pending events are merged into one. This is the default.
  case coalesce
  /// Each event is delivered. Memory grows with the number of pending events.
  case everything
  /// At most this number of events, and at least one, are pending. A further event is merged into the latest.
  case bounded(Int)

  var limit: Int {
    switch self {
    case .coalesce: 1
    case .everything: .max
    case .bounded(let count): max(1, count)
    }
  }
}
