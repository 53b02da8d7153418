import ObservableCollections

/// Bytes that arrive in parts, as lines.
struct LineSplitter {
  /// The maximum number of bytes of a line.
  let limit: Int
  /// The beginning of the line that has no end yet.
  var bytes: [UInt8] = []

  /// Returns the lines that a part completes, without their line breaks.
  ///
  /// - Throws: An error if a line is longer than the limit.
  mutating func lines(in part: [UInt8]) throws(SourceError) -> [[UInt8]] {
    let pieces = part.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    bytes += pieces[0]
    var lines: [[UInt8]] = []
    for piece in pieces.dropFirst() {
      lines.append(bytes)
      bytes = Array(piece)
    }
    guard bytes.count <= limit else {
      throw SourceError(
        code: "disconnected",
        message: "the server sent a line of more than \(limit) bytes")
    }
    return lines
  }
}
