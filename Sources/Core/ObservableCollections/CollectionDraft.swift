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
  @exclusivity(unchecked) @usableFromInline var edits = EditRecord()
  /// A Boolean value that indicates whether the recorded change has no update of equal content, and no identity that is
  /// both deleted and inserted.
  @exclusivity(unchecked) @usableFromInline var isNormal = true
  @exclusivity(unchecked) @usableFromInline var isOpen = true
  /// The places of elements that are being changed.
  @exclusivity(unchecked) @usableFromInline var places: [ElementPlace] = []
  /// The index of identities, if elements of a long collection have been looked up.
  @exclusivity(unchecked) @usableFromInline var index: IdentityIndex<Element>?
  /// The status that the transaction sets, or `nil` to keep the status. An operator adds it to that of its inputs, for
  /// this change and all that follow.
  @exclusivity(unchecked) @usableFromInline package var newStatus: SourceStatus? {
    didSet { isStatusSet = true }
  }
  /// A Boolean value that indicates whether the contents are good, whatever the new status.
  @exclusivity(unchecked) @usableFromInline package var hasLoaded = false
  /// The arrays of the previous edit, which are empty. With them, a small edit allocates no others.
  @exclusivity(unchecked) @usableFromInline var spareElements = EditedElements<Element>()
  /// A Boolean value that indicates whether the status was set. The operator's node resets it.
  @exclusivity(unchecked) @usableFromInline var isStatusSet = false

  @inlinable
  init(_ base: Snapshot<Element>) {
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

  // MARK: The five edits

  // All other edits consist of these.

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
    precondition(
      index >= 0 && index <= working.count,
      "insert at \(index), which is not in 0...\(working.count)")
    if elements.isEmpty { return }
    let offsets = index..<index + elements.count
    working.replaceSubrange(index..<index, with: elements)
    didEdit(Changeset(insertions: Array(offsets)), inserted: elements)
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
    if range.isEmpty { return }
    let removed = working.elements(in: range)
    working.replaceSubrange(range, with: [])
    didEdit(Changeset(deletions: Array(range)), removed: removed)
  }

  /// Replaces the elements in a range, and records the difference.
  ///
  /// Elements of the same identity are kept.
  ///
  /// - Parameters:
  ///   - range: The offsets of the elements to replace, within `0..<count`.
  ///   - elements: The new elements.
  /// - Complexity: O(k + log n) for k replaced and new elements, if few of them are out of order.
  @inlinable
  public func replaceSubrange(_ range: Range<Int>, with elements: some Sequence<Element>) {
    checkOpen()
    // Reading lazy elements may read this draft. The elements of a snapshot stay shared.
    var new = PersistentArray(elements)
    precondition(
      range.lowerBound >= 0 && range.upperBound <= working.count,
      "replace \(range), which is not within 0..<\(working.count)")
    if range.count < working.count {
      let replacement = new.flattened()
      new = working
      new.replaceSubrange(range, with: replacement)
    }
    let changeset = discardingEdits { snapshot.changeset(to: Snapshot(new)) }
    replace(with: Snapshot(new), by: changeset)
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
    working.move(from: source, to: destination)
    didEdit(Changeset(moves: [.init(from: source, to: destination)]))
  }

  /// Applies a changeset, with its elements in arrays.
  ///
  /// Comparing the updated elements may call code that edits this draft. Such edits are discarded.
  ///
  /// - Parameters:
  ///   - changeset: The changeset. Its offsets must fit the current elements.
  ///   - inserted: The elements for its insertions, in their order.
  ///   - updated: The new elements for its updates, in their order. An element that is equal to the
  ///     current one is not stored.
  /// - Complexity: O(k log n) for k operations on n elements.
  @inlinable
  package func apply(
    _ changeset: Changeset, inserted: [Element] = [], updated: [Element] = []
  ) {
    check(changeset)
    apply(valid: changeset, inserted: inserted, updated: updated)
  }

  /// Applies a changeset that fits the current elements, with its elements in arrays. Only debug builds check it.
  @inlinable
  package func apply(
    valid changeset: Changeset, inserted: [Element] = [], updated: [Element] = []
  ) {
    precondition(
      inserted.count == changeset.insertions.count && updated.count == changeset.updates.count,
      """
      \(inserted.count) inserted and \(updated.count) updated elements do not fit a changeset with \
      \(changeset.insertions.count) insertions and \(changeset.updates.count) updates
      """)
    var next = 0
    apply(valid: changeset) { _ in
      defer { next += 1 }
      return next < inserted.count ? inserted[next] : updated[next - inserted.count]
    }
  }

  /// Applies a changeset that fits the current elements. Only debug builds check it.
  ///
  /// - Parameters:
  ///   - changeset: The changeset.
  ///   - element: A closure that returns the element at an offset after the change. It is called once for each insertion,
  ///     and then for each update, before anything is applied.
  @inlinable
  package func apply(valid changeset: consuming Changeset, element: (_ offset: Int) -> Element) {
    checkOpen()
    assert(changeset.misfit(oldCount: working.count) == nil, "\(changeset) does not fit")
    // Code of the elements may edit this draft.
    var elements = EditedElements<Element>()
    swap(&elements, &spareElements)
    for offset in changeset.insertions { elements.inserted.append(element(offset)) }
    for update in changeset.updates {
      elements.updated.append(element(update.to))
      elements.replaced.append(working[update.from])
    }
    if let kept = discardingEdits({ elements.keepEffectiveUpdates() }) {
      changeset = changeset.keepingUpdates(at: kept)
    }
    if !changeset.isEmpty {
      for range in changeset.deletions.runs {
        elements.removed.append(contentsOf: working.elements(in: range))
      }
      working.apply(changeset, inserted: elements.inserted, updated: elements.updated)
      record(copy changeset, isNormal: changeset.deletions.isEmpty || changeset.insertions.isEmpty)
      index?.follow(changeset, elements)
    }
    // A deinitializer may read this draft.
    elements.removeAll()
    swap(&elements, &spareElements)
  }

  /// Replaces all elements, whose difference is known.
  ///
  /// - Parameters:
  ///   - new: The new elements.
  ///   - changeset: The difference.
  ///   - isNormal: A Boolean value that indicates whether no update has equal content, and no identity is both
  ///     deleted and inserted.
  /// - Complexity: O(1), or O(*k* log *n*) for *k* operations if elements were searched by identity.
  @inlinable
  package func replace(
    with new: Snapshot<Element>, by changeset: Changeset, isNormal: Bool = true
  ) {
    checkOpen()
    if changeset.isEmpty { return }
    let old = working
    working = new.storage
    record(changeset, isNormal: isNormal)
    index?.follow(changeset, from: Snapshot(old), to: new)
    withExtendedLifetime(old) {}
  }

  /// Records an edit that was made, and makes the index of identities follow it.
  ///
  /// The caller holds the removed elements until now, because a deinitializer may read this draft.
  @inlinable
  func didEdit(_ changeset: Changeset, removed: [Element] = [], inserted: [Element] = []) {
    record(changeset, isNormal: true)
    index?.follow(changeset, EditedElements(inserted: inserted, removed: removed))
    withExtendedLifetime(removed) {}
  }

  @inlinable
  func record(_ changeset: consuming Changeset, isNormal: Bool) {
    if !places.isEmpty { places.follow(changeset) }
    self.isNormal = isNormal && edits.isEmpty
    edits.append(changeset)
  }

  /// Calls code of the elements, and discards the edits that it makes to this draft.
  @inlinable
  func discardingEdits<Result, Failure: Error>(
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    // Moved and not copied, because most edits of one element come here.
    var recorded = EditRecord()
    swap(&recorded, &edits)
    let start = savepoint
    defer {
      checkOpen()
      if !working.isIdentical(to: start.working) { restore(start) }
      swap(&recorded, &edits)
      withExtendedLifetime(recorded) {}
    }
    return try body()
  }

  // MARK: The end

  /// A state of a draft, which can be restored.
  @usableFromInline
  struct Savepoint {
    @usableFromInline let working: PersistentArray<Element>
    @usableFromInline let edits: EditRecord
    @usableFromInline let isNormal: Bool
    @usableFromInline let status: SourceStatus?
    @usableFromInline let hasLoaded: Bool
    @usableFromInline let placeOffsets: [Int?]

    @inlinable
    init(_ draft: CollectionDraft) {
      placeOffsets = draft.places.map { $0.offset }
      (working, edits, isNormal) = (draft.working, draft.edits, draft.isNormal)
      (status, hasLoaded) = (draft.newStatus, draft.hasLoaded)
    }
  }

  @inlinable var savepoint: Savepoint {
    checkOpen()
    return Savepoint(self)
  }

  /// Restores a savepoint.
  ///
  /// - Returns: The discarded contents. The caller releases them last.
  @discardableResult
  @inlinable
  func restore(_ savepoint: Savepoint) -> Snapshot<Element> {
    let dropped = Snapshot(working)
    if !working.isIdentical(to: savepoint.working) { index?.invalidate() }
    (working, edits, isNormal) = (savepoint.working, savepoint.edits, savepoint.isNormal)
    (newStatus, hasLoaded) = (savepoint.status, savepoint.hasLoaded)
    places.restore(savepoint.placeOffsets)
    return dropped
  }

  /// Ends the draft, and drops the record of its edits. Using it afterwards traps.
  @inlinable
  func close() {
    isOpen = false
    if edits.isEmpty { return }
    let dropped = base
    (base, edits) = (working, EditRecord())
    withExtendedLifetime(dropped) {}
  }

  /// Ends the draft, and returns the net change of all edits, or `nil` if the contents are equal in the end. The draft then
  /// has the contents before the edits.
  ///
  /// Comparing the elements may call code that edits this draft. It traps.
  @inlinable
  func finish() -> Changeset? {
    isOpen = false
    if edits.isEmpty { return nil }
    let (before, after) = (Snapshot(base), contents)
    var changeset = edits.takeChangeset()
    if !isNormal { changeset = changeset.normalForm(from: before, to: after) }
    let hasEffect = !changeset.hasNoEffect(from: before, to: after)
    if hasEffect {
      base = after.storage
    } else {
      working = before.storage
      index?.invalidate()
    }
    // Releasing the others may run code that edits the collection.
    withExtendedLifetime((before, after)) {}
    return hasEffect ? changeset : nil
  }

  /// Opens a closed draft for edits of other contents.
  @inlinable
  func reopen(with contents: Snapshot<Element>) {
    (base, working) = (contents.storage, contents.storage)
    (newStatus, hasLoaded, isOpen) = (nil, false, true)
  }

  /// The current elements, also after `close()`.
  @inlinable var contents: Snapshot<Element> { Snapshot(working) }

  @inlinable
  func checkOpen() {
    precondition(isOpen, "a draft is used after its transaction has ended")
  }

  @inlinable
  func check(_ changeset: Changeset) {
    checkOpen()
    if changeset.changeCount == changeset.updates.count {
      precondition(
        changeset.updates.allSatisfy { $0.from == $0.to },
        "\(changeset) has an update that changes the offset without a move")
    }
    changeset.checkFits(working.count)
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
