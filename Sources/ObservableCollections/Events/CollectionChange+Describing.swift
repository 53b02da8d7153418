public import Diffing

extension CollectionChange {
  /// The same change with what it brings and takes away, as it can be sent to another process.
  ///
  /// - Complexity: O(k) for k operations.
  public var record: ChangeRecord<Element> {
    ChangeRecord(changeset, from: before, to: after)
  }
}

extension CollectionChange: CustomStringConvertible {
  /// The change as a person reads it: what was inserted, deleted, moved and updated; at most 20 lines.
  ///
  /// For more lines, or colours, see `ChangeDescription`.
  public var description: String {
    ChangeDescription(self).description
  }
}

extension ChangeDescription {
  /// Describes a change of a collection.
  ///
  /// - Parameters:
  ///   - change: The change.
  ///   - style: How much is told, and how.
  public init<Element>(_ change: CollectionChange<Element>, style: Style = Style()) {
    self.init(change.changeset, from: change.before, to: change.after, style: style)
  }
}
