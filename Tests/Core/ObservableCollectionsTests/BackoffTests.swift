import ObservableCollections
import Testing

@Suite(.timeLimit(.minutes(10))) struct BackoffTests {
  private func pauses(_ backoff: Backoff, _ count: Int) -> [Duration] {
    (1...count).map { backoff.pause(after: $0) }
  }

  @Test func `pauses grow up to the longest pause`() {
    let backoff = Backoff(first: .seconds(1), factor: 3, longest: .seconds(20))
    #expect(
      pauses(backoff, 5) == [.seconds(1), .seconds(3), .seconds(9), .seconds(20), .seconds(20)])
    #expect(backoff.pause(after: .max) == .seconds(20))
    #expect(backoff.pause(after: 0) == .seconds(1))
  }

  @Test func `the default doubles from half a second to a minute`() {
    #expect(
      pauses(Backoff(), 5)
        == [.milliseconds(500), .seconds(1), .seconds(2), .seconds(4), .seconds(8)])
    #expect(Backoff().pause(after: 8) == .seconds(60))
  }

  @Test func `a factor of one keeps the pause`() {
    #expect(Backoff(first: .seconds(2), factor: 1).pause(after: .max) == .seconds(2))
    #expect(Backoff(first: .zero).pause(after: .max) == .zero)
    #expect(Backoff(first: .seconds(9), longest: .seconds(5)).pause(after: 1) == .seconds(5))
  }

  @Test func `a huge factor does not overflow`() {
    let backoff = Backoff(first: .seconds(1), factor: 1e300)
    #expect(pauses(backoff, 4) == [.seconds(1)] + Array(repeating: .seconds(60), count: 3))
    let endless = Backoff(first: .nanoseconds(1), longest: .seconds(Int64.max))
    #expect(endless.pause(after: .max) == .seconds(Int64.max))
  }

  @Test func `the jitter randomizes its part of a pause`() {
    let backoff = Backoff(first: .seconds(4), jitter: 0.25)
    let pauses = (0..<200).map { _ in backoff.pause(after: 1) }
    #expect(pauses.allSatisfy { $0 >= .seconds(3) && $0 <= .seconds(4) })
    #expect(Set(pauses).count > 1)
  }

  @Test func `invalid values trap`() async {
    await #expect(processExitsWith: .failure) { _ = Backoff(factor: 0.5) }
    await #expect(processExitsWith: .failure) { _ = Backoff(factor: .nan) }
    await #expect(processExitsWith: .failure) { _ = Backoff(jitter: 2) }
    await #expect(processExitsWith: .failure) { _ = Backoff(first: .seconds(-1)) }
    await #expect(processExitsWith: .failure) { _ = Backoff(longest: .seconds(-1)) }
  }
}
