import ArgumentParser
import Foundation
import Swappable

/// Serves example data that changes all the time, or files.
struct Demo: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Serves an example list that changes all the time, or the files that you name.",
    discussion: """
      Without files, the list is generated, and edited about once a second. With files, the list shows the \
      first one, and pages can swap it to the others. With one file, pages can swap it to a copy with \
      some edits. Your files are never written.
      """)

  @Argument(help: "Files with a JSON array each.")
  var files: [String] = []

  @Option(help: "The member that identifies an element. Without it, the demo looks for one.")
  var key: String?

  @Option(help: "The number of rows that are generated.")
  var rows = 1000

  @OptionGroup var network: NetworkOptions

  func run() async throws {
    let options = try network.serviceOptions()
    let directory = FileManager.default.temporaryDirectory
      .appendingPathComponent("LiveService-\(UUID().uuidString.prefix(8))").path
    try FileManager.default.createDirectory(
      atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    defer { try? FileManager.default.removeItem(atPath: directory) }
    if files.isEmpty {
      try await serveInventory(in: directory, options)
    } else {
      try await serveFiles(in: directory, options)
    }
  }

  private func serveInventory(in directory: String, _ options: Service.Options) async throws {
    let original = Inventory(count: rows)
    var counted = original
    for _ in 0..<(rows / 20) { counted.edit() }
    let inventories = [("original", original), ("counted", counted)]
    let path: @Sendable (String) -> String = { "\(directory)/\($0).json" }
    for (name, inventory) in inventories { try inventory.save(to: path(name)) }
    let list = try ServedList(
      name: "inventory", key: "id",
      sources: inventories.map { name, _ in
        SourceArgument(list: "inventory", name: name, .json(path: path(name)))
      })
    let editing = Task {
      var inventories = inventories
      while !Task.isCancelled {
        try await Task.sleep(for: .milliseconds(1200))
        for offset in inventories.indices {
          for _ in 0..<Int.random(in: 1...3) { inventories[offset].1.edit() }
          try inventories[offset].1.save(to: path(inventories[offset].0))
        }
      }
    }
    defer { editing.cancel() }
    try await Service(lists: ServedLists([list]), options: options).run()
  }

  private func serveFiles(in directory: String, _ options: Service.Options) async throws {
    var sources: [(name: String, path: String)] = []
    for path in files {
      let name = URL(fileURLWithPath: path).deletingPathExtension().lastPathComponent
      sources.append((name, path))
    }
    let elements = try Self.elements(of: files[0])
    let key = key ?? EditedCopy.key(of: elements)
    if files.count == 1 {
      let path = directory + "/edited.json"
      try EditedCopy.text(of: elements, key: key).write(
        toFile: path, atomically: true, encoding: .utf8)
      sources.append(("edited", path))
    }
    let list = try ServedList(
      name: "rows", key: key,
      sources: sources.map {
        SourceArgument(list: "rows", name: $0.name, .json(path: $0.path))
      })
    try await Service(lists: ServedLists([list]), options: options).run()
  }

  private static func elements(of path: String) throws -> [JSONElement] {
    guard let data = FileManager.default.contents(atPath: path) else {
      throw ServiceError("cannot read \(path): check the path")
    }
    do {
      return try JSONElement.elements(ofArray: Array(data))
    } catch {
      throw ServiceError("\(path): \(error)")
    }
  }
}

/// A generated list of goods, with random edits.
private struct Inventory: Sendable {
  private struct Item: Sendable {
    let id: Int
    var name: String
    var shelf: String
    var count: Int
    var grams: Int

    var json: String {
      #"{"id":\#(id),"name":"\#(name)","shelf":"\#(shelf)","count":\#(count),"grams":\#(grams)}"#
    }

    static func random(id: Int) -> Item {
      Item(
        id: id, name: "\(Inventory.kinds[id % 16]), \(Inventory.varieties[id / 16 % 16])",
        shelf: Self.shelf(), count: .random(in: 0...240), grams: .random(in: 4...90) * 25)
    }

    static func shelf() -> String { "\("ABCDEF".randomElement() ?? "A")\(Int.random(in: 1...30))" }
  }

  private static let kinds = [
    "Apples", "Beans", "Bread", "Butter", "Coffee", "Flour", "Honey", "Lemons", "Milk", "Olives",
    "Pasta", "Rice", "Salt", "Tea", "Tomatoes", "Walnuts",
  ]
  private static let varieties = [
    "organic", "small", "large", "imported", "local", "fresh", "dried", "frozen", "roasted",
    "peeled", "whole", "chopped", "mild", "strong", "sweet", "salted",
  ]

  private var items: [Item]
  private var lastID: Int

  init(count: Int) {
    items = (1...max(count, 1)).map(Item.random)
    lastID = items.count
  }

  /// Performs a random edit.
  mutating func edit() {
    let offset = Int.random(in: 0..<items.count)
    // Most edits are near the start of the list, where a new page looks.
    let near = Int.random(in: 0..<min(items.count, 24))
    switch Int.random(in: 0..<10) {
    case 0, 1:
      lastID += 1
      items.insert(.random(id: lastID), at: near)
    case 2 where items.count > 20: items.remove(at: near)
    case 3: items.insert(items.remove(at: offset), at: near)
    case 4: items[near].grams += 25
    case 5: items[near].shelf = Item.shelf()
    case 6: items[offset].count = .random(in: 0...240)
    default: items[near].count = .random(in: 0...240)
    }
  }

  func save(to path: String) throws {
    let text = "[\n" + items.map(\.json).joined(separator: ",\n") + "\n]\n"
    try text.write(toFile: path, atomically: true, encoding: .utf8)
  }
}

/// A copy of a list with some edits of each kind.
private enum EditedCopy {
  /// Returns the first member whose values differ in all elements, or `nil` if there is none.
  static func key(of elements: [JSONElement]) -> String? {
    let names = elements.first?.members?.map(\.name) ?? []
    return (["id", "key", "name"].filter(names.contains) + names).first { name in
      let values = elements.compactMap { $0[name]?.scalar }
      return values.count == elements.count && Set(values).count == values.count
    }
  }

  static func text(of elements: [JSONElement], key: String?) -> String {
    var rows: [String] = []
    var removed: [String] = []
    for (offset, element) in elements.enumerated() {
      switch offset % 200 {
      case 7 where offset % 400 == 7: removed.append(element.description)
      case 19 where offset % 400 == 19: break
      case 3, 57, 111: rows.append(edited(element, except: key))
      default: rows.append(element.description)
      }
    }
    // Some rows move to other places.
    for (offset, row) in removed.enumerated() {
      rows.insert(row, at: min(rows.count, offset * 400 + 11))
    }
    return "[\n" + rows.joined(separator: ",\n") + "\n]\n"
  }

  /// Returns an element whose first number or text, apart from the key, differs.
  private static func edited(_ element: JSONElement, except key: String?) -> String {
    var isEdited = false
    guard let members = element.members else { return element.description }
    let edited = members.map { name, value -> String in
      guard !isEdited, name != key else { return "\(quoted(name)):\(value)" }
      isEdited = true
      if let number = value.integer { return "\(quoted(name)):\(number &+ 1)" }
      if let text = value.string { return "\(quoted(name)):\(quoted(text + " (edited)"))" }
      isEdited = false
      return "\(quoted(name)):\(value)"
    }
    return "{" + edited.joined(separator: ",") + "}"
  }

  private static func quoted(_ text: String) -> String {
    (try? JSONElement(.string(text)).description) ?? "\"\""
  }
}
