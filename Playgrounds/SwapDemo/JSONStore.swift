import Foundation
import Swappable

/// A list in a JSON file.
struct JSONStore: Store {
  let name = "JSON file"
  let path: String
  private let contents: JSONFileDataSource<Item>

  init(path: String, _ items: [Item]) throws {
    self.path = path
    contents = JSONFileDataSource(path: path)
    try save(items)
  }

  var source: any DataSource<Item> { contents }

  func items() throws -> [Item] {
    try JSONDecoder().decode([Item].self, from: Data(contentsOf: URL(fileURLWithPath: path)))
  }

  func apply(_ edits: [Edit]) throws {
    var items = try items()
    for edit in edits { edit.apply(to: &items) }
    try save(items)
  }

  /// Writes a file beside it that takes its place by a rename.
  private func save(_ items: [Item]) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    try encoder.encode(items).write(to: URL(fileURLWithPath: path), options: .atomic)
  }
}
