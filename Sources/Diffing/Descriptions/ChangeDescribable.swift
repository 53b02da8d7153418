/// An element with a custom text in descriptions of changes.
///
/// Most types do not need this protocol, because ``ChangeDescription`` finds their fields by
/// reflection.
public protocol ChangeDescribable {
  /// The name of the element, which begins each of its lines, or `nil` if `changeText` is enough.
  var changeLabel: String? { get }

  /// The text of the element, which follows the label if the element is inserted or deleted.
  var changeText: String { get }

  /// Returns the fields that differ from an earlier value.
  ///
  /// - Parameter old: The earlier value.
  /// - Returns: The fields in display order. If the result is empty, the description shows the
  ///   whole values.
  func changedFields(from old: Self) -> [ChangeDescription.FieldChange]
}

extension ChangeDescription {
  /// A field of an element whose value has changed.
  public struct FieldChange: Sendable, Hashable {
    /// The name of the field. A nested field has a path of names, separated by periods.
    public let name: String
    /// The old value, or `nil` if the field did not exist.
    public let old: String?
    /// The new value, or `nil` if the field no longer exists.
    public let new: String?

    /// Creates a field change.
    ///
    /// - Parameters:
    ///   - name: The name of the field.
    ///   - old: The old value, or `nil` if the field did not exist.
    ///   - new: The new value, or `nil` if the field no longer exists.
    public init(name: String, old: String?, new: String?) {
      self.name = name
      self.old = old
      self.new = new
    }
  }

  /// Returns the fields that differ between two versions of an element.
  package static func changedFields<Element>(
    from old: Element, to new: Element
  ) -> [FieldChange] {
    (new as? any ChangeDescribable)?.changedFields(fromAny: old)
      ?? ReflectedFields.changes(from: old, to: new)
  }
}

extension ChangeDescribable {
  /// Returns the fields that differ from an earlier value of unknown type, or `nil` if it has another type.
  fileprivate func changedFields(fromAny old: Any) -> [ChangeDescription.FieldChange]? {
    (old as? Self).map { changedFields(from: $0) }
  }
}
