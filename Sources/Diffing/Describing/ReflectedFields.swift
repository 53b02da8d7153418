/// The fields of values, found by reflection.
enum ReflectedFields {
  /// How deep fields of fields are looked at: objects may hold one another in a circle.
  private static let depthLimit = 8

  /// Finds the fields of two values of one type that differ.
  static func changes(from old: Any, to new: Any) -> [FieldChange] {
    var changes: [FieldChange] = []
    compare(old, new, path: "", depth: 0, into: &changes)
    return changes
  }

  /// The fields that a value stores, those of the class above first.
  static func fields(of value: Any) -> [(name: String, value: Any)] {
    var fields: [(name: String, value: Any)] = []
    var mirror: Mirror? = Mirror(reflecting: value)
    while let current = mirror {
      let own = current.children.enumerated().map { ($1.label ?? "\($0)", $1.value) }
      fields.insert(contentsOf: own, at: 0)
      mirror = current.superclassMirror
    }
    return fields
  }

  private static func compare(
    _ old: Any, _ new: Any, path: String, depth: Int, into changes: inout [FieldChange]
  ) {
    guard depth < depthLimit, let pairs = pairs(old, new) else { return }
    for (name, old, new) in pairs where !isEqual(old, new) {
      let path = path.isEmpty ? name : "\(path).\(name)"
      let count = changes.count
      if isTransparent(old), isTransparent(new) {
        compare(old, new, path: path, depth: depth + 1, into: &changes)
      }
      guard changes.count == count else { continue }
      let (old, new) = (ShownValue.text(of: old), ShownValue.text(of: new))
      // What cannot be compared is told only where it looks different.
      if old != new { changes.append(FieldChange(name: path, old: old, new: new)) }
    }
  }

  /// The fields of two values that have the same ones.
  private static func pairs(_ old: Any, _ new: Any) -> [(name: String, old: Any, new: Any)]? {
    let (old, new) = (unwrapped(old), unwrapped(new))
    switch (Mirror(reflecting: old).displayStyle, Mirror(reflecting: new).displayStyle) {
    case (.struct, .struct), (.class, .class), (.tuple, .tuple): break
    default: return nil
    }
    let (olds, news) = (fields(of: old), fields(of: new))
    guard olds.map(\.name) == news.map(\.name), !olds.isEmpty else { return nil }
    return zip(olds, news).map { ($0.name, $0.value, $1.value) }
  }

  private static func unwrapped(_ value: Any) -> Any {
    var value = value
    while let wrapped = (value as? any OptionalValue)?.wrapped { value = wrapped }
    return value
  }

  /// Whether the fields of a field say more than its text.
  private static func isTransparent(_ value: Any) -> Bool {
    let value = unwrapped(value)
    return !(value is any CustomStringConvertible) && pairs(value, value) != nil
  }

  private static func isEqual(_ old: Any, _ new: Any) -> Bool {
    (old as? any Equatable).map { isEqual($0, to: new) } ?? false
  }

  private static func isEqual<Value: Equatable>(_ old: Value, to new: Any) -> Bool {
    (new as? Value) == old
  }
}
