/// An element that says itself how it is shown where a change is described.
///
/// It is not needed where reflection finds the fields; see ``ChangeDescription``.
public protocol ChangeDescribable {
  /// What a person knows the element by, shown first in each line; `nil` where that is all of it.
  var changeLabel: String? { get }

  /// The rest of it, shown behind the label where it is inserted or deleted.
  var changeText: String { get }

  /// Finds the fields that differ.
  ///
  /// - Parameter old: The earlier value.
  /// - Returns: The fields in the order in which they are to be shown; none where it is not made of
  ///   fields, or other things differ, so that it is shown as a whole.
  func changedFields(from old: Self) -> [FieldChange]
}
