import Diffing
import Dispatch
import ObservableCollections
import ReactiveSignals
import SwappablePrimitives
import SwappableSources

extension DataSourceCheck {
  /// Checks that the source is released, with and without an observation.
  mutating func checkLifetime() async throws {
    guard await WeakReference(try await makeSource()).isReleased(timeout) else {
      throw violation("L3", "a source without an observation is not released")
    }
    let (source, recorder) = try await observe()
    guard source.object != nil else {
      throw violation("L1", "an observation does not keep its source alive")
    }
    recorder.dispose()
    let count = recorder.eventCount
    guard await source.isReleased(timeout) else {
      throw violation("L3", "a source is not released after the disposal of its last observation")
    }
    guard recorder.eventCount == count else {
      throw violation("T6", "an observer was called after its disposal")
    }
    try recorder.check()
  }

  /// - Returns: A source that only an observation keeps alive, and that observation.
  private mutating func observe() async throws -> (WeakReference, RecordingObserver<Element>) {
    let source = try await makeSource()
    let recorder = RecordingObserver(source, seed: seed)
    try await wait(for: recorder, toShow: source)
    try await change(source)
    try await wait(for: recorder, toShow: source)
    return (WeakReference(source), recorder)
  }

  /// Checks the source while its data becomes unreadable and readable again.
  mutating func checkFailing(
    _ damage: @Sendable (Source) async throws -> Void,
    _ repair: @Sendable (Source) async throws -> Void
  ) async throws {
    let source = try await makeSource()
    let recorder = RecordingObserver(source, seed: seed)
    let statuses = StatusWatch(source, behind: recorder)
    try await wait(for: recorder, toShow: source)
    for _ in 0..<max(1, steps / 6) {
      let contents = source.snapshot
      let count = recorder.eventCount
      try await damage(source)
      guard await statuses.wait(timeout, until: { $0.status.error != nil }) else {
        throw violation(
          "E6",
          "\(timeout) after its data became unreadable, the status of the source is \(source.status)"
        )
      }
      guard source.snapshot.hasSameContents(as: contents), recorder.eventCount == count else {
        throw violation(
          "E6",
          "the source does not keep its last valid contents, but has "
            + Contents.difference(of: source.snapshot, from: contents))
      }
      try await repair(source)
      try await change(source)
      try await wait(for: recorder, toShow: source, rule: "E6")
      guard await statuses.wait(timeout, until: { $0.status.state == .loaded }) else {
        throw violation(
          "E6",
          "\(timeout) after its data became readable, the status of the source is \(source.status)"
        )
      }
    }
    try recorder.check(against: source)
    if let fault = statuses.fault { throw violation(fault.rule, fault.message) }
  }
}

extension DataSourceCheck {
  /// Swaps the source into a container and out of it.
  mutating func checkSwapping() async throws {
    let container = SwappableContainer<Element>()
    let recorder = RecordingObserver(container, seed: seed)
    let left = try await swapInAndOut(container, recorder)
    guard await left.isReleased(timeout) else {
      throw violation(
        "S3",
        "\(timeout) after a container has swapped it out, a source is not released: the container "
          + "keeps it, or the source retains itself, for example by its loop")
    }
    try recorder.check(against: container)
  }

  /// - Returns: The source that the container has left.
  private mutating func swapInAndOut(
    _ container: SwappableContainer<Element>, _ recorder: RecordingObserver<Element>
  ) async throws -> WeakReference {
    let source = try await makeSource()
    // The other source has some of the same elements, in another order.
    let other = ArrayDataSource(try await expected(source).reversed().dropFirst())
    for _ in 0..<max(1, steps / 4) {
      container.swap(to: other)
      try await check(container, recorder, shows: other.snapshot)
      let handle = container.swap(to: source)
      switch await handle.outcome {
      case .swapped, .unchanged: break
      case let outcome: throw violation("S4", "the outcome of the swap is \(outcome)")
      }
      try await wait(for: recorder, toShow: source, rule: "S3")
      try await change(source)
      try await change(source)
      try await wait(for: recorder, toShow: source, rule: "S3")
      // The status of the source may change at any time, for example because its file is read again.
      let statuses = StatusWatch(container, behind: recorder)
      guard await statuses.wait(timeout, until: { $0.status == source.status }) else {
        throw violation(
          "S5", "the container is \(container.status), but the source is \(source.status)")
      }
      container.swap(to: other)
      try await check(container, recorder, shows: other.snapshot)
      try await changeUnseen(source, recorder)
    }
    return WeakReference(source)
  }

  /// Changes a source that the container has left, which must not cause an event.
  private mutating func changeUnseen(
    _ source: Source, _ recorder: RecordingObserver<Element>
  ) async throws {
    let own = RecordingObserver(source, seed: seed)
    let count = recorder.eventCount
    try await change(source)
    try await wait(for: own, toShow: source)
    guard recorder.eventCount == count else {
      throw violation("S3", "a change of a source that was swapped out reaches the container")
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
        "after the swap, the container does not have the contents of the source, but "
          + Contents.difference(of: container.snapshot, from: contents))
    }
    await container.flush()
    try recorder.check(against: container)
  }
}

/// A weak reference that can wait for the release of its object.
final class WeakReference: @unchecked Sendable {
  // Sendable: reading a weak reference is atomic, and it is written once, before it is shared.
  private(set) weak var object: AnyObject?

  init(_ object: AnyObject) {
    self.object = object
  }

  /// Waits until the object is released. A thread that is about to end may hold its last reference.
  func isReleased(_ timeout: Duration) async -> Bool {
    let deadline = DispatchTime.after(timeout)
    while object != nil {
      guard DispatchTime.now() < deadline else { return false }
      await Task.yield()
    }
    return true
  }
}
