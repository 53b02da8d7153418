import ChangeDescriptions
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
    /// The operations of all changes, including changes that are no longer kept.
    var operations = Coverage.Operations()
    var violations: [ContractError] = []
    /// The number of the first recorded event whose replay was not checked.
    var unchecked = 0
  }

  init(_ options: RecordingOptions) {
    self.options = options
  }

  var count: Int { state.withLock { $0.count } }
  var events: [CollectionEvent<Element>] { state.withLock { $0.events } }
  var latest: CollectionEvent<Element>? { state.withLock { $0.latest } }
  var operations: Coverage.Operations { state.withLock { $0.operations } }

  /// Returns the violations, including violations in replays that are checked at the end.
  func violations() -> [ContractError] {
    if options.replaysEvery == nil { checkRest() }
    return state.withLock { $0.violations }
  }

  func add(_ violation: ContractError) {
    var violation = violation
    if violation.seed == nil { violation.seed = options.seed }
    state.withLock { $0.violations.append(violation) }
  }

  /// Records and checks an event.
  func receive(_ event: CollectionEvent<Element>) {
    let (previous, step) = state.withLock { ($0.latest, $0.count) }
    if isInside.exchange(true, ordering: .acquiringAndReleasing) {
      add(
        ContractError(
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
      if case .change(let change) = event { state.operations.add(change.changeset) }
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
      add(ContractError(rule: rule, message: message, step: step))
    }
    switch (previous, event) {
    case (nil, .initial): break
    case (.some, .initial):
      violate("E1", "there is a second initial event, with \(event.snapshot.count) elements")
    case (nil, .change):
      violate("E1", "the first event is a change, not the initial event")
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
          "T3",
          "revisions are missing: a change leads from \(change.revisionBefore) to \(change.revision)"
            + "; if delivery may fall behind (T11), pass expectsEveryRevision: false"
        )
      }
      if !change.before.hasSameContents(as: previous.snapshot) {
        violate(
          "E2",
          "the snapshot before the change is not the snapshot of the previous event: "
            + Contents.difference(of: change.before, from: previous.snapshot))
      }
    }
    guard case .change(let change) = event else { return }
    if change.changeset.isEmpty { violate("E3", "the change is empty") }
    if let interval = options.replaysEvery, step % max(1, interval) == 0 {
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
        add(ContractError(rule: rule, message: message, step: first + index))
      }
    }
  }

  /// Returns the violations in a change, without regard to the events before it.
  private static func faults(
    of change: CollectionChange<Element>
  ) -> [(rule: String, message: String)] {
    let (before, after, changeset) = (change.before, change.after, change.changeset)
    if let fault = changeset.invariantViolation(oldCount: before.count, newCount: after.count) {
      // The text begins with the rule. An invalid changeset is not applied.
      return [
        (String(fault.prefix(2)), String(fault.dropFirst(4)) + " in \(Contents.text(changeset))")
      ]
    }
    var faults: [(rule: String, message: String)] = []
    if before.hasSameContents(as: after) {
      faults.append(("E3", "the contents before and after \(Contents.text(changeset)) are equal"))
    }
    let applied = Snapshot(changeset.applying(to: before, with: after))
    if !applied.hasSameContents(as: after) {
      faults.append(
        (
          "E4",
          "\(Contents.text(changeset)) does not lead from \(Contents.text(before)) to the snapshot "
            + "after the change, but to \(Contents.difference(of: applied, from: after))"
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
        ("C7", "an identity is both deleted and inserted:\n\(change)"))
    }
    for update in changeset.updates where before[update.from].isSame(as: after[update.to]) {
      faults.append(("C4", "the update \(update.from)->\(update.to) has equal content"))
    }
    if faults.isEmpty, let fault = keyedFault(of: change) { faults.append(("C9", fault)) }
    return faults
  }

  /// Returns what is wrong with a dictionary by identity that follows a change, or `nil` if nothing is.
  private static func keyedFault(of change: CollectionChange<Element>) -> String? {
    // Other changes have nothing that a dictionary might miss. Identities that are not equal to themselves are no keys.
    let changesIdentity = change.updated.contains {
      !$0.old.hasSameIdentity(as: $0.new)
    }
    guard changesIdentity,
      (Array(change.before) + change.after).allSatisfy({
        $0.differenceIdentifier == $0.differenceIdentifier
      })
    else { return nil }
    var stored: [Element.DifferenceIdentifier: (count: Int, element: Element)] = [:]
    var repeated: Set<Element.DifferenceIdentifier> = []
    func enter(_ element: Element) {
      let identity = element.differenceIdentifier
      stored[identity, default: (0, element)].count += 1
      if stored[identity]?.count != 1 { repeated.insert(identity) }
    }
    for element in change.before { enter(element) }
    let edits = change.byIdentity
    for element in edits.deleted { stored[element.differenceIdentifier]?.count -= 1 }
    for element in edits.inserted { enter(element) }
    for element in edits.stored { stored[element.differenceIdentifier]?.element = element }
    for element in change.after {
      let identity = element.differenceIdentifier
      guard let (count, other) = stored[identity], count > 0,
        repeated.contains(identity) || element.isSame(as: other)
      else {
        let text = Contents.text(of: element)
        return "a dictionary that follows the change does not have \(text):\n\(change)"
      }
      stored[identity]?.count -= 1
    }
    let left = stored.values.first { $0.count != 0 }
    return left.map {
      "a dictionary that follows the change still has \(Contents.text(of: $0.element)):\n\(change)"
    }
  }
}

/// The options of a recording observer.
struct RecordingOptions: Sendable {
  var replaysEvery: Int? = 1
  /// The maximum number of kept events.
  var keeps = Int.max
  var seed: UInt64?
  /// A Boolean value that indicates whether changes may not be merged.
  var expectsEveryRevision = false
}

/// A namespace for functions that describe contents in messages of limited length.
enum Contents {
  /// Returns the text of the first elements, and the number of the others.
  static func text<Element>(_ elements: some Collection<Element>) -> String {
    let texts = elements.prefix(8).map { text(of: $0) }
    let rest = elements.count - texts.count
    return "[\(texts.joined(separator: ", "))\(rest > 0 ? ", … \(rest) more" : "")]"
  }

  /// Returns the beginning of the text of an element.
  static func text(of element: Any) -> String {
    shortened(String(describing: element), 40)
  }

  /// Returns the beginning of the text of a changeset.
  static func text(_ changeset: Changeset) -> String {
    shortened(changeset.description, 200)
  }

  /// Returns the difference between contents and the expected contents, with a line for each
  /// element.
  ///
  /// A missing element is a deletion, and an unexpected element is an insertion.
  static func difference<Element: Differentiable & Sendable>(
    of contents: Snapshot<Element>, from expected: Snapshot<Element>
  ) -> String {
    let change = Changeset(from: expected, to: contents)
    // If the equality of the elements is faulty, the difference may be empty.
    guard !change.isEmpty else { return "\(text(contents)), not \(text(expected))" }
    let description = ChangeDescription(
      change, from: expected, to: contents, style: ChangeDescription.Style(lineLimit: 12))
    let counts =
      contents.count == expected.count
      ? "other elements, or another order"
      : "\(contents.count) elements instead of \(expected.count)"
    return "\(counts); the change from the expected contents:\n\(description)"
  }

  private static func shortened(_ text: String, _ length: Int) -> String {
    text.unicodeScalars.count > length
      ? String(String.UnicodeScalarView(text.unicodeScalars.prefix(length))) + "…" : text
  }
}
