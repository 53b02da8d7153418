public import Diffing

/// A condition that a change must meet before observers see it.
///
///     container.swap(to: reloaded, guardedBy: .deletions(atMost: .percent(20)))
///
/// If a guard refuses a change, the old contents stay, and the change is pending until it is accepted, rejected, or
/// replaced by one that meets the condition. A guard can protect a swap, or a source that reloads:
/// ``DataSource/guarded(by:)``.
public struct ChangeGuard<Element: Differentiable & Sendable>: Sendable {
  /// A number of elements.
  public enum Limit: Sendable, Hashable {
    /// A number.
    case elements(Int)
    /// A part of the elements before the change, in percent.
    case percent(Double)

    fileprivate func allows(_ count: Int, of total: Int) -> Bool {
      switch self {
      case .elements(let limit): count <= limit
      case .percent(let limit): Double(count) * 100 <= limit * Double(total)
      }
    }

    fileprivate var text: String {
      switch self {
      case .elements(let limit): "\(limit)"
      case .percent(let limit): "\(Int(exactly: limit).map { "\($0)" } ?? "\(limit)") percent"
      }
    }
  }

  private let condition: @Sendable (CollectionChange<Element>) -> String?

  /// Creates a guard.
  ///
  /// - Parameter condition: A closure that returns the reason why it refuses a change, or `nil` if it does not. It is called
  ///   on any thread. It must not change or flush the collections.
  public init(_ condition: @escaping @Sendable (CollectionChange<Element>) -> String?) {
    self.condition = condition
  }

  /// Returns the reason why the guard refuses a change, or `nil` if it does not refuse it.
  public func refuses(_ change: CollectionChange<Element>) -> String? { condition(change) }

  /// Returns a guard that limits the number of deleted elements.
  public static func deletions(atMost limit: Limit) -> Self {
    Self { change in
      let (count, total) = (change.changeset.deletions.count, change.before.count)
      if limit.allows(count, of: total) { return nil }
      return "\(count) of \(total) elements would be deleted; the limit is \(limit.text)"
    }
  }

  /// Returns a guard that limits the number of deleted, inserted, updated and moved elements.
  public static func changes(atMost limit: Limit) -> Self {
    Self { change in
      let (count, total) = (change.changeset.changeCount, change.before.count)
      if limit.allows(count, of: total) { return nil }
      return "\(count) elements would change, and \(total) are shown; the limit is \(limit.text)"
    }
  }

  /// Returns a guard that refuses contents with too few elements.
  public static func count(atLeast limit: Int) -> Self {
    Self { change in
      if change.after.count >= limit { return nil }
      return "\(change.after.count) elements would be left; the limit is \(limit)"
    }
  }

  /// Returns a guard that refuses a change if one of several guards does.
  public static func all(_ guards: [Self]) -> Self {
    Self { change in guards.lazy.compactMap { $0.refuses(change) }.first }
  }
}

extension ChangeGuard {
  /// A change that a guard has refused.
  public struct PendingChange: Sendable {
    /// The difference from the shown contents. Accepting it later may make another change, because both sides go on.
    public let change: CollectionChange<Element>
    /// The reason of the guard.
    public let reason: String
    private let onAccept: @Sendable () -> Void
    private let onReject: @Sendable () -> Void

    package init(
      change: CollectionChange<Element>, reason: String, onAccept: @escaping @Sendable () -> Void,
      onReject: @escaping @Sendable () -> Void
    ) {
      (self.change, self.reason, self.onAccept, self.onReject) = (
        change, reason, onAccept, onReject
      )
    }

    /// Shows the latest contents that were refused. If this is no longer pending, nothing happens.
    public func accept() { onAccept() }

    /// Forgets the refused contents. If this is no longer pending, nothing happens.
    ///
    /// In a swap, this cancels the swap. A guarded source asks its guard again after its next change.
    public func reject() { onReject() }
  }
}
