import Observation
import Synchronization

/// Lets the Observation framework know who reads something, and that it has changed.
///
/// A change is to be told after it can be read, by the thread that calls observers and while it
/// holds no lock: whoever is told may read again at once, on any thread, and must not find the old.
package struct ObservationTracker: ~Copyable, Sendable {
  /// Where the contents are, held; 0 until the first reading makes them: what nobody reads costs
  /// nothing.
  ///
  /// It is made before the reading takes the lock that guards what is read; so a change that is
  /// missed by the reading finds it. `AtomicLazyReference` would do, if it did not look its types up
  /// at each reading (800 instructions by `valgrind --tool=callgrind`, 160 as it is).
  private let address = Atomic<UInt>(0)

  package init() {}

  deinit {
    known?.release()
  }

  /// Whether anybody has ever read.
  package var isRead: Bool { address.load(ordering: .acquiring) != 0 }

  /// Notes a reading; to be called before it.
  package borrowing func willRead() {
    (known ?? begin())._withUnsafeGuaranteedRef { $0.access() }
  }

  /// Tells those who have read that there is something newer.
  package borrowing func hasChanged() {
    known?.takeUnretainedValue().mutate {}
  }

  private var known: Unmanaged<TrackedContents>? {
    UnsafeRawPointer(bitPattern: address.load(ordering: .acquiring)).map { .fromOpaque($0) }
  }

  private borrowing func begin() -> Unmanaged<TrackedContents> {
    let made = Unmanaged.passRetained(TrackedContents())
    let isFirst = address.compareExchange(
      expected: 0, desired: UInt(bitPattern: made.toOpaque()), ordering: .acquiringAndReleasing
    ).exchanged
    if isFirst { return made }
    // Another thread was first.
    made.release()
    return known ?? begin()
  }
}

/// What stands for contents of any type with the Observation framework.
///
/// It is not generic, as its key path would then be made anew for each reading.
package final class TrackedContents: Observable, Sendable {
  private let registrar = ObservationRegistrar()

  package init() {}

  private var contents: Void { () }

  /// Notes a reading, where one is tracked on this thread.
  package func access() {
    registrar.access(self, keyPath: \.contents)
  }

  /// Makes a change, and tells those who have read.
  package func mutate(_ change: () -> Void) {
    registrar.withMutation(of: self, keyPath: \.contents, change)
  }
}
