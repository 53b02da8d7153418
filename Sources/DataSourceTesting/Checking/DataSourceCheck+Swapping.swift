import Diffing
import ObservableCollections
import ReactiveSignals
import SwappableSources

extension DataSourceCheck {
  /// Shows the source in a container, and something else again.
  mutating func checkSwapping() async throws {
    let container = SwappableContainer<Element>()
    let recorder = RecordingObserver(container, seed: seed)
    let left = try await swapInAndOut(container, recorder)
    guard await left.isReleased(timeout) else {
      throw violation("S3", "a container keeps a source that it has left")
    }
    try recorder.check(against: container)
  }

  /// - Returns: The source that was left.
  private mutating func swapInAndOut(
    _ container: SwappableContainer<Element>, _ recorder: RecordingObserver<Element>
  ) async throws -> WeakReference {
    let source = try await makeSource()
    // The other source has some of the same elements in another order, and lacks some.
    let other = ArrayDataSource(try await expected(source).reversed().dropFirst())
    for _ in 0..<max(1, steps / 4) {
      container.swap(to: other)
      try await check(container, recorder, shows: other.snapshot)
      let handle = container.swap(to: source)
      switch await handle.outcome {
      case .swapped, .unchanged: break
      case let outcome: throw violation("S4", "swapped in, the outcome is \(outcome)")
      }
      try await wait(for: recorder, toShow: source, rule: "S3")
      try await change(source)
      try await change(source)
      try await wait(for: recorder, toShow: source, rule: "S3")
      guard container.status == source.status else {
        throw violation("S5", "the container is \(container.status), the source \(source.status)")
      }
      container.swap(to: other)
      try await check(container, recorder, shows: other.snapshot)
      try await changeUnseen(source, recorder)
    }
    return WeakReference(source)
  }

  /// Changes a source that was swapped out: nobody is to notice.
  private mutating func changeUnseen(
    _ source: Source, _ recorder: RecordingObserver<Element>
  ) async throws {
    let own = RecordingObserver(source, seed: seed)
    let count = recorder.eventCount
    try await change(source)
    try await wait(for: own, toShow: source)
    guard recorder.eventCount == count else {
      throw violation("S3", "a change of a source that was left reached the container")
    }
    try own.check()
  }

  private func check(
    _ container: SwappableContainer<Element>, _ recorder: RecordingObserver<Element>,
    shows contents: Snapshot<Element>
  ) async throws {
    guard container.snapshot.hasSameContents(as: contents) else {
      throw violation(
        "S4",
        "swapped, the container does not hold what the source does, but "
          + Contents.difference(of: container.snapshot, from: contents))
    }
    await container.flush()
    try recorder.check(against: container)
  }
}
