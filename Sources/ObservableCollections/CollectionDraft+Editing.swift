public import Diffing

extension CollectionDraft {
  /// A Boolean value that indicates whether the collection is empty.
  public var isEmpty: Bool { count == 0 }

  /// Returns the offset of the first element with an identity, or `nil` if there is none.
  ///
  /// The first search in a long collection creates an index of all identities, which follows later edits.
  ///
  /// - Complexity: O(log n) for an identity that occurs once. The first search takes O(n).
  @inlinable
  public func firstIndex(identifiedBy identifier: Element.DifferenceIdentifier) -> Int? {
    checkOpen()
    if working.count < IdentityIndex<Element>.minimumCount {
      return snapshot.firstIndex(identifiedBy: identifier)
    }
    // Hashing or comparing the identities may edit or search this draft.
    if index == nil || index?.isStale == true {
      let contents = working
      index = IdentityIndex(Snapshot(contents))
      if !working.isIdentical(to: contents) { index?.invalidate() }
    }
    let index = index
    let offset = index?.firstIndex(identifiedBy: identifier)
    return index?.isStale == false ? offset : snapshot.firstIndex(identifiedBy: identifier)
  }

  /// Removes the element at an offset.
  ///
  /// - Parameter index: The offset of the element, in `0..<count`.
  /// - Returns: The removed element.
  @discardableResult
  @inlinable
  public func remove(at index: Int) -> Element {
    checkOpen()
    checkElement(at: index)
    record.append(.removal(index..<index + 1))
    let removed = working.remove(at: index)
    self.index?.remove([removed], at: index)
    return removed
  }

  /// Removes the first element with an identity.
  ///
  /// - Returns: The removed element, or `nil` if no element has the identity.
  @discardableResult
  @inlinable
  public func remove(identifiedBy identifier: Element.DifferenceIdentifier) -> Element? {
    firstIndex(identifiedBy: identifier).map { remove(at: $0) }
  }

  /// Removes all elements that satisfy a predicate.
  ///
  /// If the predicate throws, no element is removed. Edits that the predicate makes to this draft
  /// are overwritten.
  @inlinable
  public func removeAll<Failure: Error>(
    where shouldBeRemoved: (Element) throws(Failure) -> Bool
  ) throws(Failure) {
    let start = savepoint
    var deletions: [Int] = []
    for (offset, element) in start.snapshot.enumerated() {
      if try shouldBeRemoved(element) { deletions.append(offset) }
    }
    let changeset = Changeset(deletions: deletions)
    var kept = start.snapshot.storage
    kept.apply(changeset, inserted: [], updated: [])
    write(kept, over: start) { _ in changeset }
  }

  /// Removes all elements.
  @inlinable
  public func removeAll() {
    removeSubrange(0..<count)
  }

  /// Changes an element in place. This is an update, or nothing if the element is equal afterwards.
  ///
  /// - Parameters:
  ///   - index: The offset of the element, in `0..<count`.
  ///   - body: A closure that changes the element, and does not move or remove it. If it throws, the element stays as
  ///     it was.
  @inlinable
  public func update<Failure: Error>(
    at index: Int, _ body: (inout Element) throws(Failure) -> Void
  ) throws(Failure) {
    let old = self[index]
    var (start, element): (PersistentArray?, Element) = (working, old)
    try body(&element)
    let isEdited = start.map { !working.isIdentical(to: $0) } ?? true
    // Otherwise, each update would copy a path of the tree that the previous one has copied.
    start = nil
    if isEdited {
      precondition(
        index < count && sameIdentity(self[index].differenceIdentifier, old.differenceIdentifier),
        "the closure that changes the element at \(index) also moves or removes this element")
    }
    self[index] = element
  }

  /// Changes the first element with an identity in place.
  ///
  /// - Parameters:
  ///   - identifier: The identity.
  ///   - body: A closure that changes the element, and does not move or remove it. If it throws, the element stays as
  ///     it was.
  /// - Returns: `true` if an element has the identity; otherwise, `false`.
  @discardableResult
  @inlinable
  public func update<Failure: Error>(
    identifiedBy identifier: Element.DifferenceIdentifier,
    _ body: (inout Element) throws(Failure) -> Void
  ) throws(Failure) -> Bool {
    guard let index = firstIndex(identifiedBy: identifier) else { return false }
    try update(at: index, body)
    return true
  }
}

extension CollectionDraft {
  /// Applies a changeset.
  ///
  ///     output.apply(change.changeset) { offset in row(of: change.after[offset]) }
  ///
  /// Comparing the elements that are updated, or both deleted and inserted, may call code that edits this
  /// draft. Such edits are overwritten.
  ///
  /// - Parameters:
  ///   - changeset: The changeset. Its offsets must fit the current elements.
  ///   - element: A closure that returns the element at an offset after the change. It is called once for each
  ///     insertion and each update, before anything is applied, and should not edit this draft. An updated
  ///     element that is equal to the current one is not stored.
  /// - Complexity: O(k log n) for k operations on n elements.
  @inlinable
  public func apply(_ changeset: Changeset, element: (_ offset: Int) -> Element) {
    checkOpen()
    if let offset = changeset.updatedOffset {
      let new = element(offset)
      // The closure may have edited this draft.
      if record.isEmpty { return applyUpdate(changeset, at: offset, new) }
      return apply(changeset, inserted: [], updated: [new])
    }
    applyOperations(changeset, element)
  }

  /// Applies a changeset that is not a single update.
  @inlinable
  func applyOperations(_ changeset: Changeset, _ element: (_ offset: Int) -> Element) {
    checkUpdate(changeset)
    if changeset.changeCount == 1, applySingle(changeset, element) { return }
    if changeset.isReplacement { return applyReplacement(changeset, element) }
    changeset.checkFits(working.count)
    apply(
      changeset, inserted: changeset.insertions.map(element),
      updated: changeset.updates.map { element($0.to) })
  }

  /// Applies a changeset, with its elements in arrays. Nothing happens if it is empty.
  @inlinable
  func edit(_ changeset: Changeset, inserted: [Element], updated: [Element]) {
    if changeset.isEmpty { return }
    if changeset.changeCount == 1, let offset = changeset.deletions.first {
      removeSubrange(offset..<offset + 1)
    } else if changeset.changeCount <= 2, let first = inserted.first ?? updated.first,
      inserted.count + updated.count == 1
    {
      apply(changeset) { _ in first }
    } else {
      apply(changeset, inserted: inserted, updated: updated)
    }
  }

  /// Applies a changeset that only moves elements.
  @inlinable
  func reorder(by changeset: Changeset) {
    if let move = changeset.moves.first, changeset.moves.count == 1 {
      self.move(from: move.from, to: move.to)
    } else {
      edit(changeset, inserted: [], updated: [])
    }
  }

  /// Applies a changeset of one insertion, deletion or move, or returns `false` if it must be applied like the others.
  ///
  /// Such changesets are the most frequent edits of operators.
  // Faster than arrays of all elements and operations (`PipelineBenchmarks map insert`).
  @inlinable
  func applySingle(_ changeset: Changeset, _ element: (_ offset: Int) -> Element) -> Bool {
    if let offset = changeset.insertions.first {
      let new = element(offset)
      record.append(.changeset(changeset))
      working.insert(new, at: offset)
      index?.insert([new], at: offset)
    } else if let offset = changeset.deletions.first {
      record.append(.changeset(changeset))
      let removed = working.remove(at: offset)
      index?.remove([removed], at: offset)
    } else if let move = changeset.moves.first, move.from != move.to {
      record.append(.changeset(changeset))
      working.move(from: move.from, to: move.to)
      index?.move(from: move.from, to: move.to)
    } else {
      return false
    }
    return true
  }

  /// Applies the first edit, which is one update. This is the most frequent edit of an operator.
  @inlinable
  func applyUpdate(_ changeset: Changeset, at offset: Int, _ new: Element) {
    let isUnchanged = isSame(working[offset], new)
    // Comparing the elements may have edited this draft.
    reset()
    if isUnchanged { return }
    record.begin(with: changeset)
    let replaced = working.exchangeElement(at: offset, with: new)
    index?.update(replaced, to: new, at: offset)
    withExtendedLifetime(replaced) {}
  }

  /// Replaces a few elements by others of different content.
  ///
  /// - Parameters:
  ///   - updates: The ascending offsets.
  ///   - new: A closure that returns the new element of the update at a position.
  @inlinable
  func replaceDifferent(
    _ updates: [Changeset.Update], _ new: (_ position: Int) -> Element
  ) {
    guard record.isEmpty, index == nil else {
      // Combined with the edits before, one by one. This is rare.
      for (position, update) in updates.enumerated() { self[update.to] = new(position) }
      return
    }
    let replaced = updates.indices.map {
      working.exchangeElement(at: updates[$0].to, with: new($0))
    }
    record.begin(with: Changeset(updates: updates))
    withExtendedLifetime(replaced) {}
  }

  /// Makes an edit of one element: an insertion, a removal, an update or a move.
  ///
  /// - Parameters:
  ///   - edit: The offsets. If they are equal, the edit is an update.
  ///   - new: The inserted or updated element, or `nil`.
  @inlinable
  func perform(_ edit: ElementEdit, _ new: Element?) {
    guard let removal = edit.removal else {
      if let new, let offset = edit.insertion { insert(new, at: offset) }
      return
    }
    guard let insertion = edit.insertion else { return removeSubrange(removal..<removal + 1) }
    if let new {
      self[insertion] = new
    } else {
      move(from: removal, to: insertion)
    }
  }

  /// Applies a changeset of one deletion and one insertion, which is the change of a range of fixed length.
  // Faster than the normal form of any changeset (`PipelineBenchmarks window insert`).
  @inlinable
  func applyReplacement(_ changeset: Changeset, _ element: (_ offset: Int) -> Element) {
    let (deletion, insertion) = (changeset.deletions[0], changeset.insertions[0])
    let new = element(insertion)
    guard record.isEmpty else { return apply(changeset, inserted: [new], updated: []) }
    let start = contents
    let isKept = sameIdentity(
      working[deletion].differenceIdentifier, new.differenceIdentifier)
    // Comparing the elements may have edited this draft.
    reset()
    if isKept { return apply(changeset, inserted: [new], updated: []) }
    record.append(.changeset(changeset))
    _ = working.remove(at: deletion)
    working.insert(new, at: insertion)
    index?.follow(changeset, from: start, to: contents)
  }

  /// Moves one element, and replaces it, as one edit. Only drafts of operators, which have no index, are edited
  /// with this method.
  ///
  /// - Parameters:
  ///   - source: The offset of the element, in `0..<count`.
  ///   - destination: The offset of the element after the move, in `0..<count`.
  ///   - new: The new element. If it is equal to the current one, it is not stored.
  /// - Complexity: O(log n).
  // As two edits, the records must be combined, and a third path of the tree is copied.
  @inlinable
  func move(from source: Int, to destination: Int, replacingWith new: Element) {
    let replaced = self[source]
    if source == destination {
      self[source] = new
    } else if isSame(replaced, new) {
      move(from: source, to: destination)
    } else {
      // Comparing the elements may have edited this draft.
      checkElement(at: source)
      checkElement(at: destination)
      record.append(
        .changeset(
          Changeset(
            moves: [.init(from: source, to: destination)],
            updates: [.init(from: source, to: destination)])))
      _ = working.remove(at: source)
      working.insert(new, at: destination)
      withExtendedLifetime(replaced) {}
    }
  }
}

extension Changeset {
  /// A Boolean value that indicates whether there are one deletion, one insertion and nothing else.
  @inlinable var isReplacement: Bool {
    deletions.count == 1 && insertions.count == 1 && moves.isEmpty && updates.isEmpty
  }
}
