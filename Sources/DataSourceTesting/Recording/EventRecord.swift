import Diffing
import ObservableCollections
import ReactiveSignals
import SwappablePrimitives
import Synchronization

/// The events that one observer has received, and the violations in them.
final class EventRecord<Element: Differentiable & Sendable>: Sendable {
  let notice = ChangeNotice()
  private let options: RecordingOptions
  private let isInside = Atomic<Bool>(false)
  private let state = Locked(State())

  private struct State: Sendable {
    var count = 0
    var events: [CollectionEvent<Element>] = []
    var latest: CollectionEvent<Element>?
    var violations: [ContractViolation] = []
    /// The number of the first recorded event whose replay was not checked.
    var unchecked = 0
  }

  init(_ options: RecordingOptions) {
    self.options = options
  }

  var count: Int { state.withLock { $0.count } }
  var events: [CollectionEvent<Element>] { state.withLock { $0.events } }
  var latest: CollectionEvent<Element>? { state.withLock { $0.latest } }

  /// Returns the violations, including violations in replays that are checked at the end.
  func violations() -> [ContractViolation] {
    if case .atEnd = options.checksReplay { checkRest() }
    return state.withLock { $0.violations }
  }

  func add(_ violation: ContractViolation) {
    var violation = violation
    if violation.seed == nil { violation.seed = options.seed }
    state.withLock { $0.violations.append(violation) }
  }

  /// Records and checks an event.
  func receive(_ event: CollectionEvent<Element>) {
    let (previous, step) = state.withLock { ($0.latest, $0.count) }
    if isInside.exchange(true, ordering: .acquiringAndReleasing) {
      add(
        ContractViolation(
          rule: "T3", message: "the observer is called while it is being called", step: step))
    } else {
      check(event, after: previous, step)
      isInside.store(false, ordering: .releasing)
    }
    // Release the dropped events after the lock is left.
    let dropped = state.withLock { state in
      state.count += 1
      let replaced = state.latest
      state.latest = event
      state.events.append(event)
      guard state.events.count > options.keeps else { return (replaced, Array([event][..<0])) }
      let excess = state.events.count - options.keeps
      let dropped = Array(state.events[..<excess])
      state.events.removeFirst(excess)
      return (replaced, dropped)
    }
    withExtendedLifetime(dropped) {}
    notice.notify()
  }

  // MARK: Checking

  private func check(
    _ event: CollectionEvent<Element>, after previous: CollectionEvent<Element>?, _ step: Int
  ) {
    func violate(_ rule: String, _ message: String) {
      add(ContractViolation(rule: rule, message: message, step: step))
    }
    switch (previous, event) {
    case (nil, .initial): break
    case (.some, .initial):
      violate("E1", "a second initial, \(event.snapshot.count) elements")
    case (nil, .change):
      violate("E1", "the first event is a change and not the initial")
    case (.some(let previous), .change(let change)):
      if change.revisionBefore != previous.revision {
        violate(
          "E2",
          "a change from revision \(change.revisionBefore) follows revision \(previous.revision)")
      }
      if change.revision <= change.revisionBefore {
        violate("E2", "a change leads from \(change.revisionBefore) to \(change.revision)")
      } else if options.expectsEveryRevision, change.revision != change.revisionBefore + 1 {
        violate(
          "T3", "a gap: a change leads from \(change.revisionBefore) to \(change.revision)")
      }
      if !change.before.hasSameContents(as: previous.snapshot) {
        violate(
          "E2",
          "the snapshot before is not that of the event before: "
            + Contents.difference(of: change.before, from: previous.snapshot))
      }
    }
    guard case .change(let change) = event else { return }
    if change.changeset.isEmpty { violate("E3", "the change is empty") }
    if options.checksReplay.isDue(at: step) {
      for (rule, message) in Self.faults(of: change) { violate(rule, message) }
    }
  }

  /// Checks the replays that are checked at the end.
  private func checkRest() {
    let (events, first) = state.withLock { state in
      let kept = state.count - state.events.count
      let first = max(state.unchecked, kept)
      state.unchecked = state.count
      return (Array(state.events[(first - kept)...]), first)
    }
    for (index, event) in events.enumerated() {
      guard case .change(let change) = event else { continue }
      for (rule, message) in Self.faults(of: change) {
        add(ContractViolation(rule: rule, message: message, step: first + index))
      }
    }
  }

  /// Returns the violations in a change, without regard to the events before it.
  private static func faults(
    of change: CollectionChange<Element>
  ) -> [(rule: String, message: String)] {
    let (before, after, changeset) = (change.before, change.after, change.changeset)
    if let fault = changeset.invariantViolation(oldCount: before.count, newCount: after.count) {
      // The text begins with the rule. Do not apply such a changeset.
      return [
        (String(fault.prefix(2)), String(fault.dropFirst(4)) + " in \(Contents.text(changeset))")
      ]
    }
    var faults: [(rule: String, message: String)] = []
    if before.hasSameContents(as: after) {
      faults.append(("E3", "contents are equal before and after \(Contents.text(changeset))"))
    }
    let applied = Snapshot(changeset.applying(to: before, with: after))
    if !applied.hasSameContents(as: after) {
      faults.append(
        (
          "E4",
          "\(Contents.text(changeset)) does not lead from \(Contents.text(before)) to the contents "
            + "after, but to \(Contents.difference(of: applied, from: after))"
        ))
    }
    let stepped = Snapshot(change.patch.applying(to: before))
    if !stepped.hasSameContents(as: after) {
      faults.append(
        (
          "E5",
          "the single steps of \(Contents.text(changeset)) lead from \(Contents.text(before)) to "
            + Contents.difference(of: stepped, from: after)
        ))
    }
    if changeset.normalForm(from: before, to: after).deletions != changeset.deletions {
      faults.append(
        ("C7", "one identity is deleted and inserted:\n\(change)"))
    }
    for update in changeset.updates where isSame(before[update.from], after[update.to]) {
      faults.append(("C4", "the update \(update.from)->\(update.to) has equal content"))
    }
    return faults
  }
}
