/// A field of an element that differs from what it was.
public struct FieldChange: Sendable, Hashable {
  /// The field's name; that of a field inside another one is the path to it, joined by periods.
  public let name: String
  /// What it was; `nil` where there was no such field.
  public let old: String?
  /// What it is; `nil` where there is no such field any more.
  public let new: String?

  /// Creates a difference of a field.
  ///
  /// - Parameters:
  ///   - name: The field's name.
  ///   - old: What it was; `nil` where there was no such field.
  ///   - new: What it is; `nil` where there is no such field any more.
  public init(name: String, old: String?, new: String?) {
    self.name = name
    self.old = old
    self.new = new
  }
}
