/// A list of a million rows that copies a path for each update, as the lists did when the targets were written.
///
/// It never changes, so its time tells the speed of the machine. The time of the measured list would not: it has become
/// shorter since.
final class Reference {
  /// A tree of arrays. Each leaf has 16 rows, and each other node 12 children.
  private enum Node {
    case leaf([Row])
    case inner([Node])

    /// Returns a copy with another title of the row at an offset.
    ///
    /// - Parameters:
    ///   - offset: The offset of the row below the node.
    ///   - size: The number of rows for which the node has room.
    func updated(at offset: Int, size: Int, title: String) -> Node {
      switch self {
      case .leaf(var rows):
        rows[offset].title = title
        return .leaf(rows)
      case .inner(var children):
        let childSize = size / 12
        let child = children[offset / childSize]
        children[offset / childSize] = child.updated(
          at: offset % childSize, size: childSize, title: title)
        return .inner(children)
      }
    }
  }

  private var root: Node
  private let size: Int
  private var generator = RowGenerator(hasLongTitles: false)
  private var times: [Double] = []
  private static let count = 1_000_000

  init() {
    var generator = RowGenerator(hasLongTitles: false)
    let count = Self.count
    let rows = (0..<count).map { _ in generator.row() }
    var nodes = stride(from: 0, to: count, by: 16).map {
      Node.leaf(Array(rows[$0..<min($0 + 16, count)]))
    }
    var size = 16
    while nodes.count > 1 {
      nodes = stride(from: 0, to: nodes.count, by: 12).map {
        Node.inner(Array(nodes[$0..<min($0 + 12, nodes.count)]))
      }
      size *= 12
    }
    (root, self.size) = (nodes[0], size)
  }

  /// Measures some updates.
  func measure(updates: Int) {
    var single: [Double] = []
    for _ in 0..<updates {
      let (offset, title) = (generator.number(below: Self.count), generator.title())
      single.append(microseconds { root = root.updated(at: offset, size: size, title: title) })
    }
    times.append(median(single))
  }

  /// The median of an update, in microseconds, or `nil` if none was measured.
  var time: Double? { times.isEmpty ? nil : median(times) }
}
