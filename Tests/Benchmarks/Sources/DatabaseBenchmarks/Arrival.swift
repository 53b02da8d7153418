import Dispatch
import Synchronization

/// Where a writer waits until observers have seen its last value.
final class Arrival: Sendable {
  private let expected = Atomic<Int>(-1)
  private let semaphore = DispatchSemaphore(value: 0)

  /// Names the value that is to be waited for, before it is written.
  func expect(_ value: Int) { expected.store(value, ordering: .releasing) }

  /// Tells of a value that an observer has seen.
  func saw(_ value: Double) {
    let value = Int(value)
    let result = expected.compareExchange(
      expected: value, desired: -1, ordering: .acquiringAndReleasing)
    if result.exchanged { semaphore.signal() }
  }

  /// Waits for the value; ends the program where it does not come, which would be a defect to repair
  /// and nothing to measure.
  func wait(for contestant: String) {
    guard semaphore.wait(timeout: .now() + .seconds(60)) == .success else {
      fatalError("\(contestant): the value was not seen within a minute")
    }
  }
}
