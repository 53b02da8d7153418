import DataSourceTesting
import Diffing
import ObservableCollections

typealias Expansion = OutlineRow<Folder>.Expansion

/// A folder of a tree.
struct Folder: Differentiable, Hashable, Sendable, Identifiable {
  let id: Int
  var parent: Int?
  var name = 0

  init(_ id: Int, in parent: Int? = nil, name: Int = 0) {
    self.id = id
    self.parent = parent
    self.name = name
  }
}

/// The rows of a tree, computed from an array: the oracle of `outline(parent:isExpanded:)`.
func outlineRows<Element: Differentiable & Sendable>(
  _ elements: [Element], parent: (Element) -> Element.DifferenceIdentifier?,
  isExpanded: (Element.DifferenceIdentifier) -> Bool = { _ in true }
) -> [OutlineRow<Element>] {
  let offsets = Snapshot(elements).firstIndices()
  let parents = elements.map { element -> Int? in
    guard let id = parent(element), id != element.differenceIdentifier else { return nil }
    return offsets[id]
  }
  func isRoot(_ offset: Int) -> Bool {
    var (ancestor, steps) = (parents[offset], 0)
    if ancestor == nil { return true }
    while let next = ancestor, steps <= elements.count {
      if next == offset { return true }
      (ancestor, steps) = (parents[next], steps + 1)
    }
    return false
  }
  let roots = elements.indices.filter(isRoot)
  var children: [Int: [Int]] = [:]
  for offset in elements.indices where !roots.contains(offset) {
    if let parent = parents[offset] { children[parent, default: []].append(offset) }
  }
  func rows(_ offset: Int, _ depth: Int) -> [OutlineRow<Element>] {
    let below = children[offset] ?? []
    let isOpen = !below.isEmpty && isExpanded(elements[offset].differenceIdentifier)
    let row = OutlineRow(
      elements[offset], depth: depth, hasChildren: !below.isEmpty, isExpanded: isOpen)
    return [row] + (isOpen ? below.flatMap { rows($0, depth + 1) } : [])
  }
  return roots.flatMap { rows($0, 0) }
}

/// The function in the documentation of `outline(parent:isExpanded:)`. It is slow, so few tests use it.
func documentedOutline(
  _ elements: [Folder], parent: @escaping (Folder) -> Int?, _ expansion: Expansion
) -> [OutlineRow<Folder>] {
  func parentOffset(_ offset: Int) -> Int? {  // An element that names itself has none.
    guard let id = parent(elements[offset]), id != elements[offset].id else { return nil }
    return elements.firstIndex { $0.id == id }
  }
  func isRoot(_ offset: Int) -> Bool {
    let path = Array(sequence(first: offset, next: parentOffset).prefix(elements.count + 1))
    return path.count == 1 || path.dropFirst().contains(offset)
  }
  func rows(_ offset: Int, _ depth: Int) -> [OutlineRow<Folder>] {
    let children = elements.indices.filter { !isRoot($0) && parentOffset($0) == offset }
    let isExpanded = !children.isEmpty && expansion[elements[offset].id]
    let row = OutlineRow(
      elements[offset], depth: depth, hasChildren: !children.isEmpty, isExpanded: isExpanded)
    return [row] + (isExpanded ? children.flatMap { rows($0, depth + 1) } : [])
  }
  return elements.indices.filter(isRoot).flatMap { rows($0, 0) }
}

func outlineRows(
  _ folders: some Sequence<Folder>, _ expansion: Expansion = .all
) -> [OutlineRow<Folder>] {
  outlineRows(Array(folders), parent: { $0.parent }, isExpanded: { expansion[$0] })
}

/// Returns a short text of rows, such as `1 .2 ..3 4+`: a dot for each level, and a plus for a collapsed row.
func text(_ rows: some Sequence<OutlineRow<Folder>>) -> String {
  rows.map { row in
    let sign = row.hasChildren && !row.isExpanded ? "+" : ""
    return String(repeating: ".", count: row.depth) + "\(row.element.id)" + sign
  }.joined(separator: " ")
}
