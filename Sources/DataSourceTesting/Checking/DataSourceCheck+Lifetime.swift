import Diffing
import ObservableCollections
import ReactiveSignals

extension DataSourceCheck {
  /// Lets the source go, observed and not.
  mutating func checkLifetime() async throws {
    guard await WeakReference(try await makeSource()).isReleased(timeout) else {
      throw violation("L3", "a source that nobody has observed is not released")
    }
    let (source, recorder) = try await observe()
    guard source.object != nil else {
      throw violation("L1", "an observation does not keep its source alive")
    }
    recorder.dispose()
    let count = recorder.eventCount
    guard await source.isReleased(timeout) else {
      throw violation("L3", "a source is not released when its last observation is disposed")
    }
    guard recorder.eventCount == count else {
      throw violation("T6", "an observer was called after it was disposed")
    }
    try recorder.check()
  }

  /// - Returns: A source that nothing but an observation keeps alive.
  private mutating func observe() async throws -> (WeakReference, RecordingObserver<Element>) {
    let source = try await makeSource()
    let recorder = RecordingObserver(source, seed: seed)
    try await wait(for: recorder, toShow: source)
    try await change(source)
    try await wait(for: recorder, toShow: source)
    return (WeakReference(source), recorder)
  }

  /// Makes the truth unreadable and readable again.
  mutating func checkFailing(
    _ spoil: @Sendable (Source) async throws -> Void,
    _ repair: @Sendable (Source) async throws -> Void
  ) async throws {
    let source = try await makeSource()
    let recorder = RecordingObserver(source, seed: seed)
    let statuses = StatusWatch(source, behind: recorder)
    try await wait(for: recorder, toShow: source)
    for _ in 0..<max(1, steps / 6) {
      let contents = source.snapshot
      let count = recorder.eventCount
      try await spoil(source)
      guard await statuses.wait(timeout, until: { $0.status.error != nil }) else {
        throw violation("E6", "after \(timeout) a spoilt source is \(source.status)")
      }
      guard source.snapshot.hasSameContents(as: contents), recorder.eventCount == count else {
        throw violation(
          "E6",
          "the last good contents do not stay; there are "
            + Contents.difference(of: source.snapshot, from: contents))
      }
      try await repair(source)
      try await change(source)
      try await wait(for: recorder, toShow: source, rule: "E6")
      guard await statuses.wait(timeout, until: { $0.status.state == .loaded }) else {
        throw violation("E6", "after \(timeout) a repaired source is \(source.status)")
      }
    }
    try recorder.check(against: source)
    if let fault = statuses.fault { throw violation(fault.rule, fault.message) }
  }
}
