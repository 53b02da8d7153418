import DataSourceTesting

/// Waits until a condition holds. A wait of five minutes fails, and says what it waited for.
///
///     try await wait(for: "three reads") { reads.value == 3 }
///
/// In a type that has a method named `wait`, call `TestSupport.wait(for:until:)`.
///
/// - Parameters:
///   - expectation: The state or the event to wait for.
///   - isolation: The actor of the caller, on which the condition is checked.
///   - condition: A closure that checks whether the wait is over. It is called many times.
/// - Throws: A `TimeoutError` after five minutes, a `CancellationError`, or the error of the condition.
package func wait(
  for expectation: String, isolation: isolated (any Actor)? = #isolation,
  until condition: () async throws -> Bool
) async throws {
  let deadline = ContinuousClock.now + .seconds(300)
  var yieldCount = 0
  while try await !condition() {
    guard ContinuousClock.now < deadline else {
      throw TimeoutError("waited five minutes for \(expectation)")
    }
    // Most waits are short. A long one leaves the processor to the work that it waits for.
    if yieldCount < 2_000 {
      yieldCount += 1
      await Task.yield()
    } else {
      try await Task.sleep(for: .milliseconds(1))
    }
  }
}
