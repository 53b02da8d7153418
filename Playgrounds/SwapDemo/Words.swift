import Swappable

/// Descriptions of lists and changes in words.
enum Words {
  static func describe(_ items: some Collection<Item>) -> String {
    let list = items.map { "\($0.name) \($0.count)" }.joined(separator: ", ")
    return items.isEmpty ? "0 rows" : "\(rows(items.count)): \(list)"
  }

  static func describe(_ change: CollectionChange<Item>) -> String {
    var parts: [String] = []
    func append(_ verb: String, _ names: [String]) {
      guard !names.isEmpty else { return }
      parts.append("\(names.count) \(verb) (\(names.joined(separator: ", ")))")
    }
    append("updated", change.updated.map { update(from: $0.old, to: $0.new) })
    append("moved", change.moved.map { "\($0.element.name) \(move($0.from + 1, $0.to + 1))" })
    append("inserted", change.inserted.map { "\($0.element.name) at \($0.offset + 1)" })
    append("deleted", change.deleted.map { $0.element.name })
    let kept = change.after.count - change.changeset.insertions.count
    return parts.joined(separator: ", ") + "; \(rows(kept)) \(kept == 1 ? "stays" : "stay")"
  }

  /// A row that moves past others can have the same number as before if rows are inserted or deleted, too.
  private static func move(_ old: Int, _ new: Int) -> String {
    old == new ? "past others, again at \(new)" : "from \(old) to \(new)"
  }

  static func rows(_ count: Int) -> String { count == 1 ? "1 row" : "\(count) rows" }

  private static func update(from old: Item, to new: Item) -> String {
    var parts: [String] = []
    if old.name != new.name { parts.append("now \(new.name)") }
    if old.count != new.count { parts.append("\(old.count) -> \(new.count)") }
    if old.shelf != new.shelf { parts.append("shelf \(old.shelf) -> \(new.shelf)") }
    return "\(old.name) \(parts.joined(separator: ", "))"
  }
}
