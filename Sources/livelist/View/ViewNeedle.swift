import FileSources

/// Some text that is looked for in what a view shows of elements, in capitals or not.
struct ViewNeedle: Sendable {
  private let text: String
  /// What an element's JSON must hold at least where its text holds this: the same bytes, but for the
  /// case of letters; nil where JSON may write it in other ways.
  private let bytes: [UInt8]?

  init(_ text: String) {
    self.text = text.lowercased()
    let bytes = Array(text.utf8)
    let isPlain = bytes.allSatisfy {
      (0x20..<0x7F).contains($0) && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\")
    }
    self.bytes = isPlain ? bytes.map(ViewNeedle.lowered) : nil
  }

  /// Whether the text occurs in what is shown of an element.
  func occurs(in element: JSONElement) -> Bool {
    // Most elements are told by their bytes, without taking them apart.
    if let bytes, !ViewNeedle.occurs(bytes, in: element.utf8) { return false }
    guard let members = element.members else { return occurs(in: ViewColumns.text(of: element)) }
    return members.contains { occurs(in: ViewColumns.text(of: $0.value)) }
  }

  private func occurs(in text: String) -> Bool { text.lowercased().contains(self.text) }

  private static func lowered(_ byte: UInt8) -> UInt8 {
    (0x41...0x5A).contains(byte) ? byte | 0x20 : byte
  }

  private static func occurs(_ needle: [UInt8], in bytes: [UInt8]) -> Bool {
    guard let first = needle.first else { return true }
    guard bytes.count >= needle.count else { return false }
    return bytes.withUnsafeBufferPointer { bytes in
      needle.withUnsafeBufferPointer { needle in
        for start in 0...bytes.count - needle.count where lowered(bytes[start]) == first {
          var length = 1
          while length < needle.count, lowered(bytes[start + length]) == needle[length] {
            length += 1
          }
          if length == needle.count { return true }
        }
        return false
      }
    }
  }
}
