public import Diffing

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

  /// Applies a changeset of one operation, or returns `false` if it must be applied like the others.
  ///
  /// Such changesets are the most frequent edits of operators.
  // Faster than arrays of all elements and operations (`PipelineBenchmarks map insert`).
  @inlinable
  func applySingle(_ changeset: Changeset, _ element: (_ offset: Int) -> Element) -> Bool {
    if let update = changeset.updates.first {
      let new = element(update.to)
      // The closure may have edited this draft.
      if record.isEmpty {
        applyUpdate(changeset, new)
      } else {
        apply(changeset, inserted: [], updated: [new])
      }
    } else if let offset = changeset.insertions.first {
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
  func applyUpdate(_ changeset: Changeset, _ new: Element) {
    let (start, update) = (working, changeset.updates[0])
    if isSame(start[update.from], new) { return reset(to: Snapshot(start)) }
    var next = start
    let replaced = next.exchangeElement(at: update.to, with: new)
    // Comparing the elements may have edited this draft.
    reset(to: Snapshot(start))
    working = next
    record.append(.changeset(changeset))
    index?.update(replaced, to: new, at: update.to)
    withExtendedLifetime(replaced) {}
  }

  /// Applies a changeset of one deletion and one insertion, which is the change of a range of fixed length.
  // Faster than the normal form of any changeset (`PipelineBenchmarks window insert`).
  @inlinable
  func applyReplacement(_ changeset: Changeset, _ element: (_ offset: Int) -> Element) {
    let (deletion, insertion) = (changeset.deletions[0], changeset.insertions[0])
    let new = element(insertion)
    guard record.isEmpty else { return apply(changeset, inserted: [new], updated: []) }
    let start = working
    let removed = start[deletion]
    let isKept = sameIdentity(removed.differenceIdentifier, new.differenceIdentifier)
    // Comparing the elements may have edited this draft.
    reset(to: Snapshot(start))
    if isKept { return apply(changeset, inserted: [new], updated: []) }
    record.append(.changeset(changeset))
    _ = working.remove(at: deletion)
    working.insert(new, at: insertion)
    index?.follow(changeset, from: Snapshot(start), to: contents)
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
