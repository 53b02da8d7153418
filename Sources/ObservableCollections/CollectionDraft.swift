public import Diffing

/// The contents of a collection inside a transaction: only the transaction sees them.
///
/// It keeps track of what becomes of each element, so that the transaction's one change says exactly
/// what was done. It is used inside the body that it was passed to, and traps afterwards.
public final class CollectionDraft<Element: Differentiable & Sendable> {
  private var working: [Element]
  private var record = DraftRecord.none
  private var isOpen = true
  /// The contents before the transaction.
  private let base: Snapshot<Element>
  /// The status that the transaction leaves; nil leaves it as it is.
  package var newStatus: SourceStatus?

  package init(_ base: Snapshot<Element>) {
    self.base = base
    working = Array(base)
  }

  /// The elements as they are now.
  public var elements: [Element] {
    checkOpen()
    return working
  }

  // MARK: The five edits, on which all others stand

  /// Inserts elements.
  ///
  /// - Parameters:
  ///   - elements: What to insert.
  ///   - index: Where the first of them is to stand; 0 up to and including `count`.
  /// - Complexity: O(n).
  public func insert(contentsOf elements: some Collection<Element>, at index: Int) {
    checkOpen()
    // Elements that are only made as they are read may look at the draft, which is not being edited yet.
    let elements = Array(elements)
    precondition(
      index >= 0 && index <= working.count,
      "insert at \(index), which is not in 0...\(working.count)")
    guard !elements.isEmpty else { return }
    let range = index..<(index + elements.count)
    note(.insertion(range)) {
      $0.insert(contentsOf: repeatElement(-1, count: range.count), at: index)
    }
    working.insert(contentsOf: elements, at: index)
  }

  /// Removes elements.
  ///
  /// - Parameter range: The offsets of what to remove, within 0..<`count`.
  /// - Complexity: O(n).
  public func removeSubrange(_ range: Range<Int>) {
    checkOpen()
    precondition(
      range.lowerBound >= 0 && range.upperBound <= working.count,
      "remove \(range), which is not within 0..<\(working.count)")
    guard !range.isEmpty else { return }
    note(.removal(range)) { $0.removeSubrange(range) }
    // Elements are let go when the array is complete again: a deinitialiser may look at it.
    let removed = Array(working[range])
    working.removeSubrange(range)
    withExtendedLifetime(removed) {}
  }

  /// Replaces one element: an update, whatever the identity of the new one.
  ///
  /// An element of the same identity and content changes nothing and is not stored.
  ///
  /// - Complexity: O(1), and O(n) the first time in a transaction.
  public subscript(index: Int) -> Element {
    get {
      checkOpen()
      precondition(index >= 0 && index < working.count, missing(index))
      return working[index]
    }
    set {
      checkOpen()
      precondition(index >= 0 && index < working.count, missing(index))
      guard !isSame(working[index], newValue) else { return }
      note(.update(index)) { origins in
        if origins[index] >= 0 { origins[index] |= Self.touched }
      }
      let replaced = working[index]
      working[index] = newValue
      withExtendedLifetime(replaced) {}
    }
  }

  /// Moves one element.
  ///
  /// - Parameters:
  ///   - source: Where it stands, within 0..<`count`.
  ///   - destination: Where it stands afterwards, within 0..<`count`.
  /// - Complexity: O(n).
  public func move(from source: Int, to destination: Int) {
    checkOpen()
    precondition(source >= 0 && source < working.count, missing(source))
    precondition(destination >= 0 && destination < working.count, missing(destination))
    guard source != destination else { return }
    note(.move(from: source, to: destination)) { $0.insert($0.remove(at: source), at: destination) }
    working.insert(working.remove(at: source), at: destination)
  }

  /// Replaces everything, and finds out what differs: an element of the same identity is kept.
  ///
  /// - Complexity: O(n) where little is out of order.
  public func replace(with elements: some Sequence<Element>) {
    checkOpen()
    let new = Array(elements)
    write(new, over: savepoint) { Changeset(from: $0, to: new) }
  }

  /// Writes contents over those of a moment before, by what differs between the two.
  ///
  /// Finding that out may run code of the elements that edits this very draft: such edits are written
  /// over.
  ///
  /// - Parameters:
  ///   - new: The new contents.
  ///   - start: The moment that the difference begins at.
  ///   - difference: Makes the changeset that leads from the contents at that moment to the new ones.
  package func write(
    _ new: [Element], over start: Savepoint, _ difference: ([Element]) -> Changeset
  ) {
    checkOpen()
    let changeset = difference(start.working)
    let replaced = working
    working = start.working
    record = start.record
    defer { withExtendedLifetime(replaced) {} }
    guard !changeset.isEmpty else { return }
    note(.difference(changeset)) { origins in
      var composed = changeset.origins(oldCount: origins.count)
      for (offset, origin) in composed.enumerated() where origin >= 0 {
        composed[offset] = origins[origin]
      }
      for update in changeset.updates where composed[update.to] >= 0 {
        composed[update.to] |= Self.touched
      }
      origins = composed
    }
    working = new
  }

  // MARK: Recording

  /// Marks an origin whose element was written.
  private static var touched: Int { 1 << (Int.bitWidth - 2) }

  private func note(_ edit: DraftRecord, _ apply: (inout [Int]) -> Void) {
    if case .none = record {
      record = edit
      return
    }
    var origins = origins()
    // Let go of the record's own reference, so that the array is edited in place.
    record = .none
    apply(&origins)
    record = .origins(origins)
  }

  /// Where each element came from, marks included.
  private func origins() -> [Int] {
    if case .origins(let origins) = record { return origins }
    let changeset = record.changeset ?? .empty
    var origins = changeset.origins(oldCount: base.count)
    for update in changeset.updates { origins[update.to] |= Self.touched }
    return origins
  }

  // MARK: The end

  /// What a body that throws goes back to, and what a difference begins at.
  package struct Savepoint {
    package let working: [Element]
    fileprivate let record: DraftRecord
    fileprivate let status: SourceStatus?
  }

  package var savepoint: Savepoint {
    checkOpen()
    return Savepoint(working: working, record: record, status: newStatus)
  }

  /// Goes back to what was.
  ///
  /// - Returns: The elements until now, which are let go of last.
  @discardableResult
  package func restore(_ savepoint: Savepoint) -> [Element] {
    let dropped = working
    working = savepoint.working
    record = savepoint.record
    newStatus = savepoint.status
    return dropped
  }

  /// Ends the draft.
  package func close() {
    isOpen = false
  }

  /// What the transaction comes to; nil where the contents are equal in the end.
  package func outcome() -> (snapshot: Snapshot<Element>, changeset: Changeset)? {
    let changeset: Changeset
    if case .origins(let marked) = record {
      changeset = Changeset(
        recorded: marked.map { $0 < 0 ? $0 : $0 & ~Self.touched }, from: base.array, to: working,
        isTouched: { _, new in marked[new] >= Self.touched })
    } else if let single = record.changeset {
      changeset = single
    } else {
      return nil
    }
    let after = Snapshot(working)
    if changeset.hasNoEffect(from: base, to: after) { return nil }
    return (after, changeset)
  }

  private func checkOpen() {
    precondition(isOpen, "a draft is used after its transaction has ended")
  }

  private func missing(_ index: Int) -> String {
    "there is no element at \(index): the offsets are 0..<\(working.count)"
  }
}

/// What was done to a draft so far.
///
/// A single edit is kept as it is, so that the most frequent kind of transaction costs nothing that
/// grows with the collection but the copy of its contents.
private enum DraftRecord {
  case none
  case insertion(Range<Int>)
  case removal(Range<Int>)
  case update(Int)
  case move(from: Int, to: Int)
  case difference(Changeset)
  /// For each offset where the element came from, or -1.
  case origins([Int])

  /// What a single edit changes; nil for none and for several.
  var changeset: Changeset? {
    switch self {
    case .none, .origins: nil
    case .insertion(let range): Changeset(insertions: Array(range))
    case .removal(let range): Changeset(deletions: Array(range))
    case .update(let index): Changeset(updates: [.init(from: index, to: index)])
    case .move(let source, let destination):
      Changeset(moves: [.init(from: source, to: destination)])
    case .difference(let changeset): changeset
    }
  }
}

extension Changeset {
  /// Whether the contents are equal before and after, though elements changed places: equal ones may.
  ///
  /// - Complexity: O(1) where something was inserted or deleted alone, otherwise up to the first
  ///   difference within the stretch that moves span.
  package func hasNoEffect<Element>(
    from before: Snapshot<Element>, to after: Snapshot<Element>
  ) -> Bool {
    // Updates alone have an effect, each of them.
    if moves.isEmpty && insertions.isEmpty { return isEmpty }
    guard before.count == after.count else { return false }
    var affected = deletions + insertions
    for move in moves { affected += [move.from, move.to] }
    for update in updates { affected += [update.from, update.to] }
    guard let first = affected.min(), let last = affected.max() else { return true }
    return (first...last).allSatisfy { isSame(before[$0], after[$0]) }
  }
}

@available(*, unavailable)
extension CollectionDraft: Sendable {}
