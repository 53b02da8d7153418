import Dispatch
import Synchronization

/// Lets a writer wait until observers have received its last value.
final class Arrival: Sendable {
  private let expected = Atomic<Int>(-1)
  private let semaphore = DispatchSemaphore(value: 0)

  /// Sets the value to wait for, before it is written.
  func expect(_ value: Int) { expected.store(value, ordering: .releasing) }

  /// Notes a value that an observer has received.
  func saw(_ value: Double) {
    let value = Int(value)
    let result = expected.compareExchange(
      expected: value, desired: -1, ordering: .acquiringAndReleasing)
    if result.exchanged { semaphore.signal() }
  }

  /// Waits for the value. Traps after a minute, because a missing value is a defect.
  func wait(for contestant: String) {
    guard semaphore.wait(timeout: .now() + .seconds(60)) == .success else {
      fatalError("\(contestant): the value did not arrive within a minute")
    }
  }
}
