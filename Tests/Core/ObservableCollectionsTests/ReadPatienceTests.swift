import ObservableCollections
import SwappablePrimitives
import Testing

@Suite struct ReadPatienceTests {
  private struct Numbers: PolledSource {
    typealias Element = Int
    func read(_: ReadAttempt, _: inout Void) -> ReadResult { .contents(.same) }
  }
  private typealias Result = Numbers.ReadResult

  private static func failure(
    _ code: String = "a", shownAfter wait: Int = 200, again pause: Int? = nil
  ) -> Result {
    .failure(
      .failed(SourceError(code: code, message: code)), shownAfter: .milliseconds(wait),
      again: pause.map { .milliseconds($0) })
  }

  private static func incomplete(_ wait: Int) -> Result {
    Result(.contents(.same, completeAfter: .milliseconds(wait)))
  }

  private var patience = ReadPatience()
  private var shown = SourceStatus.State.loading

  /// Notes the result of a read at a time in milliseconds, and returns whether it is shown, and the next pause.
  private mutating func read(
    _ result: Result, at now: Int, isBeingWritten: Bool = false
  ) -> String {
    var result = result
    result.isBeingWritten = isBeingWritten
    let time = AnyClock.Instant(offset: .milliseconds(now))
    let (isShown, pause) = patience.handle(result, shown: shown, at: time)
    switch result.outcome {
    case .failure(let state, _) where isShown: shown = state
    case .contents: shown = .loaded
    default: break
    }
    return (isShown ? "shown, " : "") + (pause.map { "\($0 / .milliseconds(1))" } ?? "-")
  }

  private func waited(at now: Int) -> Int {
    Int(patience.waited(at: AnyClock.Instant(offset: .milliseconds(now))) / .milliseconds(1))
  }

  @Test mutating func `contents end all waits`() {
    #expect(read(.contents(.same), at: 0) == "-")
    #expect(read(.contents(.same, again: .milliseconds(30)), at: 0) == "30.0")
    #expect(read(Self.failure(), at: 10) == "200.0")
    #expect(patience.failures == 1)
    #expect(read(.contents(.same), at: 20) == "-")
    #expect(waited(at: 30) == 0)
    #expect(patience.failures == 0)
  }

  @Test mutating func `a failure is shown when it has lasted`() {
    #expect(read(Self.failure(), at: 0) == "200.0")
    #expect(read(Self.failure("b", again: 30), at: 50) == "30.0")
    #expect(read(Self.failure("b", again: 300), at: 80) == "120.0")
    #expect(waited(at: 200) == 200)
    #expect(read(Self.failure("c", again: 70), at: 200) == "shown, 70.0")
    #expect(patience.failures == 4)
    // The same failure may have new diagnostics, and another one waits anew.
    #expect(read(Self.failure("c", again: 90), at: 270) == "shown, 90.0")
    #expect(read(Self.failure("d"), at: 360) == "200.0")
    #expect(read(Self.failure("d"), at: 560) == "shown, -")
  }

  @Test mutating func `a failure without patience is shown at once`() {
    #expect(read(Self.failure(shownAfter: 0), at: 0) == "shown, -")
    #expect(read(Self.failure("b", shownAfter: 0, again: 5), at: 0) == "shown, 5.0")
  }

  @Test mutating func `what is incomplete is read again when the wait is over`() {
    #expect(read(.nothing(for: .milliseconds(200)), at: 0) == "200.0")
    #expect(read(.nothing(for: .milliseconds(200)), at: 150) == "50.0")
    #expect(read(.nothing(for: .milliseconds(200)), at: 200) == "200.0")
    #expect(patience.failures == 0)
    #expect(read(.nothing(for: nil), at: 210) == "-")
    #expect(read(Self.incomplete(200), at: 250) == "200.0")
    #expect(waited(at: 300) == 50)
    // Each part of the contents has its own wait.
    #expect(read(Self.incomplete(200), at: 300) == "200.0")
    #expect(waited(at: 500) == 200)
  }

  @Test mutating func `an active writer restarts the wait, but not for ever`() {
    #expect(read(Self.failure(), at: 0, isBeingWritten: true) == "200.0")
    for number in 1...50 {
      #expect(read(Self.failure(), at: number * 100, isBeingWritten: true) == "200.0")
    }
    #expect(read(Self.failure(), at: 5_100, isBeingWritten: true) == "100.0")
    #expect(read(Self.failure(), at: 5_200, isBeingWritten: true) == "shown, -")
    #expect(read(.nothing(for: .milliseconds(200)), at: 6_000) == "200.0")
    #expect(
      read(.nothing(for: .milliseconds(200)), at: 6_100, isBeingWritten: true) == "200.0")
  }
}
