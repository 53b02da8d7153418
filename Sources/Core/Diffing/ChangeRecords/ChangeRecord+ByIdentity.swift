extension ChangeRecord {
  /// A change by identity: the identities that a list has lost, gained or kept with another content.
  ///
  /// Offsets and moves are left out. A dictionary that has the elements of a list by identity follows the list by two
  /// lines:
  ///
  /// ```swift
  /// let edits = change.byIdentity
  /// for todo in edits.deleted { titles[todo.id] = nil }
  /// for todo in edits.stored { titles[todo.id] = todo.title }
  /// ```
  ///
  /// The sequences `deleted`, `inserted` and `updated` of a change are not sufficient for a dictionary, because an update may
  /// change the identity of its element (rule C9).
  ///
  /// Each occurrence of an identity counts. If identities repeat in the list, count them in the dictionary.
  public struct ByIdentity {
    /// The old elements whose identity has left the list.
    public let deleted: [Element]
    /// The new elements whose identity has entered the list.
    public let inserted: [Element]
    /// The elements whose identity stays, and whose content differs.
    public let updated: [(old: Element, new: Element)]

    /// The elements to store: the inserted ones, and the updated ones with their new content.
    public var stored: [Element] { inserted + updated.map(\.new) }
  }
}

extension ChangeRecord.ByIdentity: Sendable where Element: Sendable {}

extension ChangeRecord where Element: Differentiable {
  /// The change by identity.
  ///
  /// - Complexity: O(*k*) on average for *k* operations.
  public var byIdentity: ByIdentity {
    var (gone, new) = (deleted, inserted)
    var kept: [(old: Element, new: Element)] = []
    for (old, element) in zip(replaced, updated) {
      if old.hasSameIdentity(as: element) {
        kept.append((old, element))
      } else {
        gone.append(old)
        new.append(element)
      }
    }
    // An identity that one element loses and another one gains stays in the list.
    var (left, entered) = (gone.map(Optional.some), new.map(Optional.some))
    IdentityTable.pair(
      oldCount: gone.count, newCount: new.count, old: { gone[$0].differenceIdentifier },
      new: { new[$0].differenceIdentifier }
    ) { old, position in
      if !new[position].hasSameContent(as: gone[old]) { kept.append((gone[old], new[position])) }
      (left[old], entered[position]) = (nil, nil)
    }
    return ByIdentity(
      deleted: left.compactMap(\.self), inserted: entered.compactMap(\.self), updated: kept)
  }
}
