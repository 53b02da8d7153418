public import Diffing

/// The contents of a collection inside a transaction. Only the transaction sees them.
///
/// The draft records each edit, and the transaction delivers the net change of all edits. Use a
/// draft only inside the closure that receives it. Using it afterwards traps.
public final class CollectionDraft<Element: Differentiable & Sendable> {
  // Access is not checked for exclusivity at run time: no code of the elements runs while one of these is
  // written, because replaced elements are released after the edit.

  /// The contents before the edits. This reference keeps their nodes shared, so edits copy them, and change only nodes
  /// that this draft has made.
  @exclusivity(unchecked) @usableFromInline var base: PersistentArray<Element>
  @exclusivity(unchecked) @usableFromInline var working: PersistentArray<Element>
  @exclusivity(unchecked) @usableFromInline var record = EditRecord()
  @exclusivity(unchecked) @usableFromInline var isOpen = true
  /// The index of identities, if elements of a long collection have been looked up.
  @exclusivity(unchecked) @usableFromInline var index: IdentityIndex<Element>?
  /// The status that the transaction sets, or `nil` to keep the status. An operator adds it to that of its inputs, for
  /// this change and all that follow.
  @exclusivity(unchecked) @usableFromInline package var newStatus: SourceStatus? {
    didSet { isStatusSet = true }
  }
  /// A Boolean value that indicates whether the contents are good, whatever the new status.
  @exclusivity(unchecked) @usableFromInline package var hasLoaded = false
  /// A Boolean value that indicates whether the status was set. The operator's node resets it.
  @exclusivity(unchecked) @usableFromInline var isStatusSet = false

  @inlinable
  package init(_ base: Snapshot<Element>) {
    (self.base, working) = (base.storage, base.storage)
  }

  /// The current elements, as an array.
  ///
  /// - Complexity: O(n) for a long collection that was edited, otherwise O(1). To read the elements
  ///   in O(1), use ``snapshot``.
  @inlinable public var elements: [Element] {
    checkOpen()
    return working.flattened()
  }

  /// The current elements. Later edits do not change the snapshot.
  ///
  /// - Complexity: O(1).
  @inlinable public var snapshot: Snapshot<Element> {
    checkOpen()
    return Snapshot(working)
  }

  /// The number of elements.
  @inlinable public var count: Int {
    checkOpen()
    return working.count
  }

  // MARK: The basic edits

  /// Appends an element.
  @inlinable
  public func append(_ element: Element) {
    insert(element, at: count)
  }

  /// Appends elements.
  @inlinable
  public func append(contentsOf elements: some Collection<Element>) {
    // Read the elements first, because reading them may change `count`.
    let elements = Array(elements)
    insert(contentsOf: elements, at: count)
  }

  /// Inserts an element.
  ///
  /// - Parameters:
  ///   - element: The element to insert.
  ///   - index: The offset of the element after the insertion, in `0...count`.
  @inlinable
  public func insert(_ element: Element, at index: Int) {
    checkOpen()
    checkInsertion(at: index)
    record.append(.insertion(index..<index + 1))
    working.insert(element, at: index)
    self.index?.insert([element], at: index)
  }

  /// Inserts elements.
  ///
  /// - Parameters:
  ///   - elements: The elements to insert.
  ///   - index: The offset of the first new element after the insertion, in `0...count`.
  /// - Complexity: O(k + log n) for k new elements.
  @inlinable
  public func insert(contentsOf elements: some Collection<Element>, at index: Int) {
    checkOpen()
    // Reading lazy elements may read this draft, so read all of them before the edit.
    let elements = Array(elements)
    checkInsertion(at: index)
    if elements.count <= 1 {
      for element in elements { insert(element, at: index) }
      return
    }
    record.append(.insertion(index..<index + elements.count))
    working.replaceSubrange(index..<index, with: elements)
    self.index?.insert(elements, at: index)
  }

  /// Removes the elements in a range.
  ///
  /// - Parameter range: The offsets of the elements to remove, within `0..<count`.
  /// - Complexity: O(k + log n) for k removed elements.
  @inlinable
  public func removeSubrange(_ range: Range<Int>) {
    checkOpen()
    precondition(
      range.lowerBound >= 0 && range.upperBound <= working.count,
      "remove \(range), which is not within 0..<\(working.count)")
    if range.count <= 1 {
      for offset in range { remove(at: offset) }
      return
    }
    record.append(.removal(range))
    // Release the removed elements after the edit: a deinitializer may read this draft.
    let removed = working.elements(in: range)
    working.replaceSubrange(range, with: [])
    index?.remove(removed, at: range.lowerBound)
    withExtendedLifetime(removed) {}
  }

  /// Accesses the element at an offset, in `0..<count`.
  ///
  /// Setting an element is an update, even if the new element has another identity. If the new
  /// element has the same identity and content, it is not stored and nothing is recorded.
  ///
  /// - Complexity: O(log n).
  @inlinable
  public subscript(index: Int) -> Element {
    get {
      checkOpen()
      checkElement(at: index)
      return working[index]
    }
    set {
      guard !isSame(self[index], newValue) else { return }
      // Comparing the elements may have edited this draft.
      checkElement(at: index)
      record.append(.update(index))
      let replaced = working.exchangeElement(at: index, with: newValue)
      self.index?.update(replaced, to: newValue, at: index)
      withExtendedLifetime(replaced) {}
    }
  }

  /// Moves one element.
  ///
  /// - Parameters:
  ///   - source: The offset of the element, in `0..<count`.
  ///   - destination: The offset of the element after the move, in `0..<count`.
  /// - Complexity: O(log n).
  @inlinable
  public func move(from source: Int, to destination: Int) {
    checkOpen()
    checkElement(at: source)
    checkElement(at: destination)
    guard source != destination else { return }
    record.append(.move(from: source, to: destination))
    working.move(from: source, to: destination)
    index?.move(from: source, to: destination)
  }

  /// Replaces all elements, and records the difference.
  ///
  /// Elements of the same identity are kept.
  ///
  /// - Complexity: O(n) if few elements are out of order.
  @inlinable
  public func replace(with elements: some Sequence<Element>) {
    checkOpen()
    let new = PersistentArray(elements)
    write(new, over: savepoint) { Snapshot($0).changeset(to: Snapshot(new)) }
  }

  /// Applies a changeset, with its elements in arrays.
  ///
  /// - Parameters:
  ///   - changeset: The changeset. Its offsets must fit the current elements.
  ///   - inserted: The elements for its insertions, in their order.
  ///   - updated: The new elements for its updates, in their order. An element that is equal to the
  ///     current one is not stored.
  /// - Complexity: O(k log n) for k operations on n elements.
  @inlinable
  package func apply(
    _ changeset: Changeset, inserted: some Collection<Element>, updated: some Collection<Element>
  ) {
    checkOpen()
    checkUpdate(changeset)
    let (inserted, updated) = (Array(inserted), Array(updated))
    precondition(
      inserted.count == changeset.insertions.count && updated.count == changeset.updates.count,
      """
      \(inserted.count) inserted and \(updated.count) updated elements do not fit a changeset with \
      \(changeset.insertions.count) insertions and \(changeset.updates.count) updates
      """)
    let start = savepoint
    func isEffective(_ position: Int) -> Bool {
      !isSame(start.working[changeset.updates[position].from], updated[position])
    }
    var (changeset, remaining) = (changeset, updated)
    // By index: iterating allocates in code that is not specialized.
    var first = 0
    while first < updated.count, isEffective(first) { first += 1 }
    if first < updated.count {
      let effective = Array(0..<first) + (first + 1..<updated.count).filter(isEffective)
      remaining = effective.map { updated[$0] }
      changeset = Changeset(
        deletions: changeset.deletions, insertions: changeset.insertions, moves: changeset.moves,
        updates: effective.map { changeset.updates[$0] })
    }
    var new = start.working
    new.apply(changeset, inserted: inserted, updated: remaining)
    write(new, over: start) {
      // Without both deletions and insertions, there is nothing to pair. Equal updates are dropped
      // above.
      changeset.deletions.isEmpty || changeset.insertions.isEmpty
        ? changeset : changeset.normalForm(from: Snapshot($0), to: Snapshot(new))
    }
  }

  /// Replaces the contents at a savepoint by new contents, and records their difference.
  ///
  /// Computing the difference may call code of the elements that edits this draft. Such edits are
  /// overwritten.
  ///
  /// - Parameters:
  ///   - new: The new contents.
  ///   - start: The savepoint.
  ///   - difference: A closure that returns the changeset from the contents at the savepoint to the
  ///     new contents.
  @inlinable
  package func write(
    _ new: PersistentArray<Element>, over start: Savepoint,
    _ difference: (PersistentArray<Element>) -> Changeset
  ) {
    checkOpen()
    let changeset = difference(start.working)
    let replaced = working
    record = start.record
    working = changeset.isEmpty ? start.working : new
    if !changeset.isEmpty { record.append(.changeset(changeset)) }
    if let index {
      if !replaced.isIdentical(to: start.working) { index.invalidate() }
      index.follow(changeset, from: start.snapshot, to: Snapshot(working))
    }
    withExtendedLifetime(replaced) {}
  }

  /// Replaces the elements at a savepoint, with a changeset that an operator has computed.
  ///
  /// - Parameters:
  ///   - new: The new elements.
  ///   - start: The savepoint.
  ///   - changeset: The difference. It may contain updates of equal content, and an identity that is both
  ///     deleted and inserted.
  @inlinable
  func write(_ new: [Element], over start: Savepoint, _ changeset: Changeset) {
    let new = PersistentArray(new)
    write(new, over: start) { changeset.normalForm(from: Snapshot($0), to: Snapshot(new)) }
  }

  // MARK: The end

  /// A state of a draft, which can be restored, or compared with later contents.
  @usableFromInline
  package struct Savepoint {
    @usableFromInline let working: PersistentArray<Element>
    @usableFromInline let record: EditRecord
    @usableFromInline let status: SourceStatus?

    @inlinable
    init(working: PersistentArray<Element>, record: EditRecord, status: SourceStatus?) {
      self.working = working
      self.record = record
      self.status = status
    }

    /// The contents at the savepoint.
    @inlinable package var snapshot: Snapshot<Element> { Snapshot(working) }
  }

  @inlinable package var savepoint: Savepoint {
    checkOpen()
    return Savepoint(working: working, record: record, status: newStatus)
  }

  /// Restores a savepoint.
  ///
  /// - Returns: The discarded contents. The caller releases them last.
  @discardableResult
  @inlinable
  package func restore(_ savepoint: Savepoint) -> Snapshot<Element> {
    let dropped = Snapshot(working)
    if !working.isIdentical(to: savepoint.working) { index?.invalidate() }
    working = savepoint.working
    record = savepoint.record
    newStatus = savepoint.status
    return dropped
  }

  /// Ends the draft, and drops the record of its edits. Using it afterwards traps.
  @inlinable
  package func close() {
    (isOpen, base) = (false, working)
    if !record.isEmpty { record = EditRecord() }
  }

  /// Opens the draft again, with the contents that it had when it was closed.
  @inlinable
  func reopen() {
    isOpen = true
  }

  /// Discards all edits.
  @inlinable
  func reset() {
    if record.isEmpty { return }
    let dropped = working
    index?.invalidate()
    (working, record) = (base, EditRecord())
    withExtendedLifetime(dropped) {}
  }

  /// The current elements, also after `close()`.
  @inlinable package var contents: Snapshot<Element> { Snapshot(working) }

  /// Ends the draft, and returns the net change of all edits, or `nil` if the contents are equal in the end.
  ///
  /// Comparing the elements may call code that edits this draft. It traps.
  @inlinable
  package func outcome() -> Changeset? {
    isOpen = false
    if record.isEmpty { return nil }
    let single = record.single
    // The most frequent change of an operator always has an effect.
    if let single, single.updatedOffset != nil { return single }
    let (base, after) = (Snapshot(base), contents)
    let changeset = single ?? record.changeset.normalForm(from: base, to: after)
    return changeset.hasNoEffect(from: base, to: after) ? nil : changeset
  }

  @inlinable
  func checkOpen() {
    precondition(isOpen, "a draft is used after its transaction has ended")
  }

  @inlinable
  func checkInsertion(at index: Int) {
    precondition(
      index >= 0 && index <= working.count,
      "insert at \(index), which is not in 0...\(working.count)")
  }

  @inlinable
  func checkUpdate(_ changeset: Changeset) {
    if changeset.changeCount == changeset.updates.count {
      precondition(
        changeset.updates.allSatisfy { $0.from == $0.to },
        "\(changeset) has an update that changes the offset without a move")
    }
  }

  @inlinable
  func checkElement(at index: Int) {
    precondition(index >= 0 && index < working.count, missing(index))
  }

  @usableFromInline
  func missing(_ index: Int) -> String {
    "there is no element at \(index): the offsets are 0..<\(working.count)"
  }
}

extension Changeset {
  /// Returns the change that observers receive for recorded edits.
  ///
  /// The method reads the storage of the snapshots directly, because generic code reads snapshots
  /// slowly.
  ///
  /// - Complexity: The complexity of `normalForm(old:new:)`, times O(log n) for n elements.
  @inlinable
  package func normalForm<Element>(
    from old: Snapshot<Element>, to new: Snapshot<Element>
  ) -> Changeset {
    let (old, new) = (old.storage, new.storage)
    return normalForm(old: { old[$0] }, new: { new[$0] })
  }

  /// Returns whether the contents are equal before and after. Even moves of equal elements may
  /// leave them equal.
  ///
  /// - Complexity: O(1) if there are only deletions or only insertions. Otherwise, elements are
  ///   compared from the first to the last affected offset, up to the first difference.
  @inlinable
  package func hasNoEffect<Element>(
    from before: Snapshot<Element>, to after: Snapshot<Element>
  ) -> Bool {
    // Without moves and insertions, each deletion and each update has an effect.
    if moves.isEmpty && insertions.isEmpty { return isEmpty }
    guard before.count == after.count else { return false }
    // Deletions and insertions are in ascending order.
    var first = min(deletions.first ?? .max, insertions.first ?? .max)
    var last = max(deletions.last ?? -1, insertions.last ?? -1)
    for move in moves {
      first = min(first, move.from, move.to)
      last = max(last, move.from, move.to)
    }
    for update in updates {
      first = min(first, update.from, update.to)
      last = max(last, update.from, update.to)
    }
    if last < first { return true }
    return (first...last).allSatisfy { isSame(before[$0], after[$0]) }
  }
}

@available(*, unavailable)
extension CollectionDraft: Sendable {}
