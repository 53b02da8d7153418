import Diffing

/// Which identities and contents have occurred.
///
/// What they are called makes no difference. Of the lists that are the same but for that, this accepts
/// the one whose identities, and contents of each identity, first occur in order.
struct Names {
  private var contentCounts: [UInt8] = []

  /// What has occurred after a list, `nil` if it is not in order.
  func named(_ list: [Item]) -> Names? {
    var names = self
    for item in list where !names.accepts(item) { return nil }
    return names
  }

  /// Notes an element; tells whether it is in order.
  private mutating func accepts(_ item: Item) -> Bool {
    let id = Int(item.id)
    if id > contentCounts.count { return false }
    if id == contentCounts.count { contentCounts.append(0) }
    if item.content > contentCounts[id] { return false }
    if item.content == contentCounts[id] { contentCounts[id] += 1 }
    return true
  }
}

/// Which identities and contents of sections, and of elements, have occurred.
struct SectionNames {
  private var sections = Names()
  private var elements = Names()

  /// What has occurred after a list, `nil` if it is not in order.
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
