public import Observation
import SwappablePrimitives
import Synchronization

/// Follows a property or a collection on the main actor, for views.
///
///     let name = MainActorMirror(person.map(\.name))
///     var body: some View { Text(name.value) }
///
/// It is changed on the main actor alone, so that the Observation framework misses nothing there,
/// whatever thread sets what it follows. It holds a value from its beginning, that which a new observer
/// is told first, and then the newest of those that come while the main actor is busy. It keeps what it
/// follows alive; letting it go ends that.
@MainActor public final class MainActorMirror<Value: Sendable> {
  private let contents = TrackedContents()
  private var newest: Value
  private var observation: Disposable?

  /// Makes one that follows a property.
  ///
  /// - Parameter property: What it follows; of a part of another one it is a projection's `readOnly`.
  public convenience init(_ property: ReadOnlyProperty<Value>) {
    self.init(property.newest) { scheduler, handler in
      property.observe(on: scheduler, handler)
    }
  }

  /// Makes one that follows a property.
  ///
  /// - Parameter property: What it follows.
  public convenience init(_ property: Property<Value>) {
    self.init(property.readOnly)
  }

  /// Makes one that follows anything.
  ///
  /// - Parameters:
  ///   - value: What it holds until it is told something.
  ///   - observe: Subscribes, with the newest of values that wait; the first one comes at once.
  package init(
    _ value: Value,
    following observe: (Scheduler, @escaping @Sendable (Value) -> Void) -> Disposable
  ) {
    newest = value
    let take: @MainActor @Sendable (Value) -> Void = { [weak self] in self?.take($0) }
    let beginning = Beginning()
    observation = observe(beginning.scheduler) { value in
      MainActor.assumeIsolated { take(value) }
    }
    beginning.isOver.store(true, ordering: .relaxed)
  }

  /// The newest value that has reached the main actor; reading it is tracked.
  public var value: Value {
    contents.access()
    return newest
  }

  private func take(_ value: Value) {
    // What was held is let go after the change: it may run code that reads this.
    let replaced = newest
    contents.mutate { newest = value }
    withExtendedLifetime(replaced) {}
  }
}

extension MainActorMirror: Observable {}

/// Tells the subscription itself, which is told its first value at once, from what comes after it.
private final class Beginning: Sendable {
  let isOver = Atomic<Bool>(false)
  private let thread = ThreadID.current

  var scheduler: Scheduler {
    Scheduler { [self] work in
      // Only the thread that subscribes ends the beginning; what others are told goes the long way.
      if ThreadID.current == thread, !isOver.load(ordering: .relaxed) {
        work()
      } else {
        Task { @MainActor in work() }
      }
    }
  }
}
