public import Observation
import SwappablePrimitives
import Synchronization

/// A copy of a property or a collection on the main actor, for use in views.
///
///     let name = MainActorState(person.map(\.name))
///     var body: some View { Text(name.value) }
///
/// The state changes only on the main actor, so the Observation framework misses no change there,
/// whichever thread sets the source. It has a value from the beginning: the value that a new
/// observer receives first. If several values arrive while the main actor is busy, the state
/// receives the latest. It keeps its source alive until it is released.
@MainActor public final class MainActorState<Value: Sendable> {
  private let contents = TrackedContents()
  private var newest: Value
  private var observation: Disposable?

  /// Creates a state that follows a read-only property.
  ///
  /// - Parameter property: The property. To follow a part of a property, pass the `readOnly` view
  ///   of a projection.
  public convenience init(_ property: ReadOnlyProperty<Value>) {
    self.init(property.newest) { scheduler, handler in
      property.observe(on: scheduler, handler)
    }
  }

  /// Creates a state that follows a property.
  ///
  /// - Parameter property: The property.
  public convenience init(_ property: Property<Value>) {
    self.init(property.readOnly)
  }

  /// Creates a state that follows any source.
  ///
  /// - Parameters:
  ///   - value: The value until the first one is received.
  ///   - observe: A closure that observes the source and keeps only the latest pending value. The
  ///     first value is delivered before it returns.
  package init(
    _ value: Value,
    following observe: (DeliveryScheduler, @escaping @Sendable (Value) -> Void) -> Disposable
  ) {
    newest = value
    let take: @MainActor @Sendable (Value) -> Void = { [weak self] in self?.take($0) }
    let beginning = Beginning()
    observation = observe(beginning.scheduler) { value in
      MainActor.assumeIsolated { take(value) }
    }
    beginning.isOver.store(true, ordering: .relaxed)
  }

  /// The latest value that has reached the main actor. Reading it is tracked.
  public var value: Value {
    contents.access()
    return newest
  }

  private func take(_ value: Value) {
    // Release the old value after the change: its deinitializer may read this state.
    let replaced = newest
    contents.mutate { newest = value }
    withExtendedLifetime(replaced) {}
  }
}

extension MainActorState: Observable {}

/// Distinguishes the first value, which is delivered immediately, from all later values.
private final class Beginning: Sendable {
  let isOver = Atomic<Bool>(false)
  private let thread = ThreadID.current

  var scheduler: DeliveryScheduler {
    DeliveryScheduler { [self] work in
      // Only the observing thread ends the beginning. Values from other threads are sent to the
      // main actor.
      if ThreadID.current == thread, !isOver.load(ordering: .relaxed) {
        work()
      } else {
        Task { @MainActor in work() }
      }
    }
  }
}
