import Diffing

/// The identities and contents that have occurred.
///
/// Lists that differ only in these names are equivalent. Of equivalent lists, this type accepts the one
/// in which the identities, and the contents of each identity, first occur in ascending order.
struct Names {
  private var contentCounts: [UInt8] = []

  /// Returns the names after a list, or `nil` if they are not in order.
  func named(_ list: [Item]) -> Names? {
    var names = self
    for item in list where !names.accepts(item) { return nil }
    return names
  }

  /// Adds the names of an element, and returns `true` if they are in order.
  private mutating func accepts(_ item: Item) -> Bool {
    let id = Int(item.id)
    if id > contentCounts.count { return false }
    if id == contentCounts.count { contentCounts.append(0) }
    if item.content > contentCounts[id] { return false }
    if item.content == contentCounts[id] { contentCounts[id] += 1 }
    return true
  }
}

/// The identities and contents of sections and elements that have occurred.
struct SectionNames {
  private var sections = Names()
  private var elements = Names()

  /// Returns the names after a list, or `nil` if they are not in order.
  func named(_ list: [Section]) -> SectionNames? {
    guard let sections = sections.named(list.map(\.model)),
      let elements = elements.named(list.flatMap(\.elements))
    else { return nil }
    var names = self
    names.sections = sections
    names.elements = elements
    return names
  }
}
