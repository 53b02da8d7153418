import Swappable

/// A list in memory.
struct ArrayStore: Store {
  let name = "array"
  private let contents: ArrayDataSource<Item>

  init(_ items: [Item]) {
    contents = ArrayDataSource(items)
  }

  var source: any DataSource<Item> { contents }

  func items() -> [Item] { Array(contents.snapshot) }

  func apply(_ edits: [Edit]) {
    contents.transaction { draft in
      for edit in edits {
        switch edit {
        case .insert(let item, let index):
          draft.insert(item, at: min(index, draft.count))
        case .delete(let id):
          draft.remove(identifiedBy: id)
        case .setCount(let count, let id):
          draft.update(identifiedBy: id) { $0.count = count }
        case .move(let id, let destination):
          guard let index = draft.firstIndex(identifiedBy: id) else { continue }
          draft.move(from: index, to: min(destination, draft.count - 1))
        }
      }
    }
  }
}
