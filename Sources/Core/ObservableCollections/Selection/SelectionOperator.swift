public import Diffing
public import ReactiveSignals
import SwappablePrimitives

/// The changes of a selection that were asked for. An operator carries them out, in their order.
///
/// A property has their number, so a transaction that is rolled back takes its requests back.
@usableFromInline
final class SelectionRequests<Element: Differentiable & Sendable>: Sendable
where Element.DifferenceIdentifier: Sendable {
  @usableFromInline
  enum Request: Sendable {
    case select(Element.DifferenceIdentifier)
    case deselect(Element.DifferenceIdentifier)
    case toggle(Element.DifferenceIdentifier)
    case selectAll(@Sendable (Element) -> Bool)
    case deselectAll((@Sendable (Element) -> Bool)?)
    case invert
  }

  /// The number of all requests.
  @usableFromInline let count = Property(0)
  /// The requests that were not carried out, and the number of those before.
  private let waiting = Locked((start: 0, requests: [Request]()))
  private let identities = Locked(0)

  @usableFromInline
  init() {}

  @usableFromInline
  func append(_ request: Request) {
    count.modify { count in
      let dropped = waiting.withLock { waiting in
        // A transaction that was rolled back may have left some.
        let dropped = Array(waiting.requests[(count - waiting.start)...])
        waiting.requests.removeLast(dropped.count)
        waiting.requests.append(request)
        return dropped
      }
      withExtendedLifetime(dropped) {}
      count += 1
    }
  }

  /// Takes the requests up to a number of all.
  @usableFromInline
  func take(upTo end: Int) -> [Request] {
    waiting.withLock { waiting in
      let taken = Array(waiting.requests.prefix(end - waiting.start))
      waiting.requests.removeFirst(taken.count)
      waiting.start = end
      return taken
    }
  }

  /// The number of selected identities.
  @usableFromInline var identityCount: Int {
    get { identities.withLock { $0 } }
    set { identities.withLock { $0 = newValue } }
  }

  /// The number of requests that are kept. For tests.
  var keptCount: Int { waiting.withLock { $0.requests.count } }
}

/// An operator that marks the selected elements of a list.
@usableFromInline
struct SelectionOperator<Element: Differentiable & Sendable>: ~Copyable, CollectionOperator
where Element.DifferenceIdentifier: Sendable {
  @usableFromInline typealias Identity = Element.DifferenceIdentifier
  @usableFromInline typealias Output = MarkedElement<Element>

  @usableFromInline let input: CollectionInput<Element>
  @usableFromInline let requests: SelectionRequests<Element>
  /// The number of requests.
  @usableFromInline let count: PropertyInput<Int>
  @usableFromInline let mode: LiveCollection<Element>.Selection.Mode
  @usableFromInline let whenGone: LiveCollection<Element>.Selection.Departure
  @usableFromInline var rows = RowsByKey<Identity>(keepsOrder: false)
  @usableFromInline var selected: Set<Identity> = []
  /// The identities that were selected or deselected since the output was edited.
  @usableFromInline var changed: Set<Identity> = []

  @inlinable
  init(
    input: CollectionInput<Element>, requests: SelectionRequests<Element>,
    count: PropertyInput<Int>, mode: LiveCollection<Element>.Selection.Mode,
    whenGone: LiveCollection<Element>.Selection.Departure
  ) {
    (self.input, self.requests, self.count) = (input, requests, count)
    (self.mode, self.whenGone) = (mode, whenGone)
  }

  @inlinable
  mutating func start(_ output: CollectionDraft<Output>) {
    rows.replaceAll(with: input.snapshot.map { RowsByKey.matchable($0.differenceIdentifier) })
    carryOut()
    requests.identityCount = selected.count
    changed = []
    output.append(contentsOf: input.snapshot.map { mark($0) })
  }

  @inlinable
  mutating func update(_ output: CollectionDraft<Output>) {
    if let change = input.change {
      follow(change)
      output.apply(valid: change.changeset) { mark(change.after[$0]) }
    }
    carryOut()
    requests.identityCount = selected.count
    for identity in changed {
      for offset in rows.offsets(of: identity) { output[offset] = mark(input.snapshot[offset]) }
    }
    changed = []
  }

  @inlinable
  func mark(_ element: Element) -> Output {
    MarkedElement(element, isShown: selected.contains(element.differenceIdentifier))
  }

  @inlinable
  mutating func setSelected(_ identity: Identity, _ isSelected: Bool) {
    let isChange =
      isSelected ? selected.insert(identity).inserted : selected.remove(identity) != nil
    if isChange { changed.insert(identity) }
  }

  // MARK: Requests

  @inlinable
  mutating func carryOut() {
    for request in requests.take(upTo: count.value) { carryOut(request) }
  }

  @inlinable
  mutating func carryOut(_ request: SelectionRequests<Element>.Request) {
    switch request {
    case .select(let identity): select(identity)
    case .deselect(let identity): setSelected(identity, false)
    case .toggle(let identity):
      if selected.contains(identity) { setSelected(identity, false) } else { select(identity) }
    case .selectAll(let isIncluded):
      let found = input.snapshot.lazy.filter(isIncluded).map(\.differenceIdentifier)
      if mode == .multiple {
        for identity in found { select(identity) }
      } else if let first = found.first {
        select(first)
      }
    case .deselectAll(nil): for identity in selected { setSelected(identity, false) }
    case .deselectAll(let isIncluded?):
      for element in input.snapshot where isIncluded(element) {
        setSelected(element.differenceIdentifier, false)
      }
    case .invert where mode == .multiple:
      for identity in Set(input.snapshot.map(\.differenceIdentifier)) {
        setSelected(identity, !selected.contains(identity))
      }
    case .invert: break
    }
  }

  @inlinable
  mutating func select(_ identity: Identity) {
    guard whenGone == .remember || rows.has(identity) else { return }
    if mode != .multiple {
      for other in selected where other != identity { setSelected(other, false) }
    }
    setSelected(identity, true)
  }

  // MARK: The list

  /// Follows a change of the list, and the identities that are selected.
  @inlinable
  mutating func follow(_ change: CollectionChange<Element>) {
    let (changeset, before, after) = (change.changeset, change.before, change.after)
    let renamed = changeset.updates.compactMap { update -> (Identity, Identity)? in
      let (old, new) = (
        before[update.from].differenceIdentifier, after[update.to].differenceIdentifier
      )
      return old != new && selected.contains(old) ? (old, new) : nil
    }
    // The elements that keep an old identity: other ones may get it at the same time.
    var kept: [Identity: Int] = [:]
    for (old, _) in renamed { kept[old] = rows.count(of: rows.entry(of: old)) }
    if !renamed.isEmpty {
      for offset in changeset.deletions { kept[before[offset].differenceIdentifier]? -= 1 }
      for (old, _) in renamed { kept[old]? -= 1 }
    }
    if let keys = KeyChange(change, key: { $0.differenceIdentifier }) { rows.follow(keys) }
    for (old, count) in kept where count <= 0 || mode != .multiple { setSelected(old, false) }
    for (_, new) in mode == .multiple ? renamed[...] : renamed.prefix(1) { setSelected(new, true) }
    guard whenGone == .forget else { return }
    for offset in changeset.deletions {
      let identity = before[offset].differenceIdentifier
      guard selected.contains(identity), !rows.has(identity) else { continue }
      setSelected(identity, false)
      guard mode == .singleOrNeighbor else { continue }
      if let neighbor = neighbor(of: offset, change) { setSelected(neighbor, true) }
    }
  }

  /// Returns the identity of the next element that is still there, or else of the last one before it.
  @usableFromInline
  func neighbor(of offset: Int, _ change: CollectionChange<Element>) -> Identity? {
    let map = OffsetMap(change.changeset)
    let old = (offset + 1..<change.before.count).lazy.compactMap { map[$0] }.first
    return (old ?? (0..<offset).reversed().lazy.compactMap { map[$0] }.first)
      .map { change.after[$0].differenceIdentifier }
  }
}
