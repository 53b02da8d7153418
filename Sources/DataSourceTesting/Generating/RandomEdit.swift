/// A kind of random edit.
public enum RandomEdit: Sendable, Hashable, CaseIterable {
  /// Appends an element.
  case append
  /// Inserts an element somewhere.
  case insert
  /// Inserts several elements side by side.
  case insertMany
  /// Removes an element.
  case remove
  /// Removes several elements side by side.
  case removeMany
  /// Moves an element.
  case move
  /// Changes the content of an element.
  case update
  /// Puts an element of another identity in the place of one.
  case replaceIdentity
  /// Writes an element as it is.
  case writeEqual
  /// Does something and undoes it.
  case cancelOut
  /// Replaces everything by a shuffled, thinned and edited version.
  case replace
  /// Removes everything.
  case removeAll
  /// Edits in a transaction inside of the transaction.
  case nest
  /// Edits in a transaction inside of the transaction that throws, and so has no effect.
  case nestAndThrow

  /// All kinds.
  public static let all = Array(allCases)
}
