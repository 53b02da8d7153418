public import Dispatch

/// Where an observer is called.
public struct Scheduler: Sendable {
  /// Runs a piece of work later, somewhere else; nil: at once, on the thread that delivers.
  package let schedule: (@Sendable (@escaping @Sendable () -> Void) -> Void)?

  /// Calls on the thread that delivers, in order with all other immediate observers.
  public static let immediate = Scheduler(schedule: nil)

  /// Calls on the main actor.
  public static let mainActor = Scheduler { work in
    Task { @MainActor in work() }
  }

  /// Calls on a dispatch queue, serial or concurrent.
  ///
  /// An observer is never called concurrently with itself, nor out of order.
  public static func queue(_ queue: DispatchQueue) -> Scheduler {
    Scheduler { work in queue.async(execute: work) }
  }

  /// Calls wherever a closure says.
  ///
  /// - Parameter schedule: Runs each piece of work that it is given once, later or at once, on any
  ///   thread. The next piece is given only when the one before has run.
  public init(_ schedule: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void) {
    self.schedule = schedule
  }

  private init(schedule: (@Sendable (@escaping @Sendable () -> Void) -> Void)?) {
    self.schedule = schedule
  }
}

/// What becomes of events that wait because their observer is slow.
public enum DeliveryPolicy: Sendable, Hashable {
  /// All that waits becomes one event: the default.
  case coalesce
  /// Each event is delivered as it came. Memory grows with what waits.
  case everything
  /// Up to so many events wait, at least one; what comes on top is merged into the newest of them.
  case bounded(Int)

  var limit: Int {
    switch self {
    case .coalesce: 1
    case .everything: .max
    case .bounded(let count): max(1, count)
    }
  }
}
