import Observation
import SwappablePrimitives
import Synchronization

/// Reports reads and changes of a value to the Observation framework.
///
/// The delivering thread reports a change after the new value can be read, and without a lock: the framework
/// may call code that reads the value immediately, on any thread.
package struct ObservationTracker: ~Copyable, Sendable {
  /// The address of the retained `TrackedContents`, or 0 before the first read. A value that is never read
  /// costs nothing.
  ///
  /// The first read creates the object before it takes the lock that guards the value, so a change that this
  /// read does not see finds the object. `AtomicLazyReference` would look up its types for each read (800
  /// instructions by `valgrind --tool=callgrind`, instead of 160).
  private let address = Atomic<UInt>(0)

  init() {}

  deinit {
    known?.release()
  }

  var isRead: Bool { address.load(ordering: .acquiring) != 0 }

  /// Reports a read. Call this before the read.
  package borrowing func willRead() {
    (known ?? begin())._withUnsafeGuaranteedRef { $0.access() }
  }

  /// Reports a change.
  package borrowing func hasChanged() {
    known?.takeUnretainedValue().mutate {}
  }

  private var known: Unmanaged<TrackedContents>? {
    schedulePoint()
    return UnsafeRawPointer(bitPattern: address.load(ordering: .acquiring)).map { .fromOpaque($0) }
  }

  private borrowing func begin() -> Unmanaged<TrackedContents> {
    let made = Unmanaged.passRetained(TrackedContents())
    schedulePoint()
    let isFirst = address.compareExchange(
      expected: 0, desired: UInt(bitPattern: made.toOpaque()), ordering: .acquiringAndReleasing
    ).exchanged
    if isFirst { return made }
    // Another thread was first.
    made.release()
    return known ?? begin()
  }
}

/// An observable object that represents a value of any type.
///
/// The class is not generic, because a generic class would create its key path for each read.
package final class TrackedContents: Observable, Sendable {
  private let registrar = ObservationRegistrar()

  package init() {}

  private var contents: Void { () }

  /// Reports a read, if this thread tracks reads.
  package func access() {
    registrar.access(self, keyPath: \.contents)
  }

  /// Performs a change, and reports it.
  package func mutate(_ change: () -> Void) {
    registrar.withMutation(of: self, keyPath: \.contents, change)
  }
}
