/// A namespace for functions that find the fields of values by reflection.
enum ReflectedFields {
  /// The maximum depth of nested fields. Objects may refer to each other in a cycle.
  private static let depthLimit = 8

  /// Returns the fields that differ between two values of the same type.
  static func changes(from old: Any, to new: Any) -> [ChangeDescription.FieldChange] {
    var seen: Set<ObjectPair> = []
    var changes: [ChangeDescription.FieldChange] = []
    if let pair = ObjectPair(unwrapped(old), unwrapped(new)) { seen.insert(pair) }
    compare(old, new, path: "", depth: 0, seen: &seen, into: &changes)
    return changes
  }

  /// Returns the stored fields of a value. The fields of a superclass come first.
  static func fields(of value: Any) -> [(name: String, value: Any)] {
    var fields: [(name: String, value: Any)] = []
    var mirror: Mirror? = Mirror(reflecting: value)
    while let current = mirror {
      let own = current.children.enumerated().map { position, child in
        // The labels of tuple fields begin with a period.
        (child.label.map { String($0.trimmingPrefix(".")) } ?? "\(position)", child.value)
      }
      fields.insert(contentsOf: own, at: 0)
      mirror = current.superclassMirror
    }
    return fields
  }

  /// - Parameter seen: The objects that are already compared. Objects can be reached on many paths,
  ///   and their differences are described only once.
  /// - Returns: `true` if all differences are described as fields.
  @discardableResult
  private static func compare(
    _ old: Any, _ new: Any, path: String, depth: Int, seen: inout Set<ObjectPair>,
    into changes: inout [ChangeDescription.FieldChange]
  ) -> Bool {
    guard depth < depthLimit, let pairs = pairs(old, new) else { return false }
    // Register the objects of this level first, because nested objects may refer to them.
    let fields = pairs.filter { _, old, new in
      if isEqual(old, new) { return false }
      guard let pair = ObjectPair(unwrapped(old), unwrapped(new)) else { return true }
      return pair.old != pair.new && seen.insert(pair).inserted
    }
    for (name, old, new) in fields {
      let path = path.isEmpty ? name : "\(path).\(name)"
      if isTransparent(old), isTransparent(new), haveSameType(old, new),
        compare(old, new, path: path, depth: depth + 1, seen: &seen, into: &changes)
      {
        continue
      }
      let (old, new) = (ValueFormatter.text(of: old), ValueFormatter.text(of: new))
      // Values that are not `Equatable` differ only if their texts differ.
      if old != new { changes.append(.init(name: path, old: old, new: new)) }
    }
    return true
  }

  /// Returns the fields of two values, or `nil` if the values do not have the same fields.
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

  private static func haveSameType(_ old: Any, _ new: Any) -> Bool {
    type(of: unwrapped(old)) == type(of: unwrapped(new))
  }

  /// Returns a Boolean value that indicates whether the nested fields of a value say more than its
  /// text.
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

/// An object and the object that it is compared with.
private struct ObjectPair: Hashable {
  let old: ObjectIdentifier
  let new: ObjectIdentifier

  /// Returns `nil` for values that are not objects.
  init?(_ old: Any, _ new: Any) {
    guard type(of: old) is AnyClass, type(of: new) is AnyClass else { return nil }
    self.old = ObjectIdentifier(old as AnyObject)
    self.new = ObjectIdentifier(new as AnyObject)
  }
}
