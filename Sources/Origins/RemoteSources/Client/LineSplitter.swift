import ObservableCollections

/// Bytes that arrive in parts, as lines.
struct LineSplitter {
  private let limit: Int
  private var bytes: [UInt8] = []

  /// - Parameter limit: The maximum number of bytes of a line.
  init(limit: Int) {
    self.limit = limit
  }

  /// Returns the lines that a part completes, without their line breaks.
  ///
  /// - Throws: An error if a line is longer than the limit.
  mutating func lines(in part: [UInt8]) throws(SourceError) -> [[UInt8]] {
    var lines: [[UInt8]] = []
    var rest = part[...]
    while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
      bytes += rest[..<end]
      rest = rest[(end + 1)...]
      lines.append(bytes)
      bytes = []
    }
    bytes += rest
    guard bytes.count <= limit else {
      throw SourceError(
        code: "disconnected",
        message: "the server sent a line of more than \(limit) bytes")
    }
    return lines
  }
}
