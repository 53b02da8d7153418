import FileSources
import ObservableCollections

/// The search for rows that contain a text.
enum ViewSearch {
  struct Match: Sendable {
    let offset: Int
    let element: JSONElement
    /// A Boolean value that indicates whether the search passed the end of the list.
    let isWrapped: Bool
  }

  /// Returns the next row that contains a text.
  ///
  /// The search continues at the other end of the list, and tests the start row last. It runs
  /// outside the main actor. If its task is canceled, it returns `nil`.
  @concurrent
  static func find(
    _ text: String, in contents: Snapshot<JSONElement>, from start: Int, isBackward: Bool
  ) async -> Match? {
    let count = contents.count
    let pattern = ViewPattern(text)
    for step in 1...max(1, count) where count > 0 {
      if step.isMultiple(of: 1000), Task.isCancelled { return nil }
      let offset = (start + (isBackward ? count - step : step)) % count
      let element = contents[offset]
      if pattern.matches(element) {
        let isWrapped = isBackward ? offset >= start : offset <= start
        return Match(offset: offset, element: element, isWrapped: isWrapped && step < count)
      }
    }
    return nil
  }
}

/// A text to find in the visible text of elements, without regard to case.
struct ViewPattern: Sendable {
  private let text: String
  /// The lowercase bytes that the JSON of each matching element contains, or `nil` if JSON can
  /// escape them.
  private let bytes: [UInt8]?

  init(_ text: String) {
    self.text = text.lowercased()
    let bytes = Array(text.utf8)
    let isPlain = bytes.allSatisfy {
      (0x20..<0x7F).contains($0) && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\")
    }
    self.bytes = isPlain ? bytes.map(ViewPattern.lowercase) : nil
  }

  /// Returns a Boolean value that indicates whether the visible text of an element contains the
  /// pattern.
  func matches(_ element: JSONElement) -> Bool {
    // Most elements can be excluded by their bytes, without parsing them.
    if let bytes, !ViewPattern.contains(bytes, in: element.utf8) { return false }
    guard let members = element.members else { return matches(ViewColumns.text(of: element)) }
    return members.contains { matches(ViewColumns.text(of: $0.value)) }
  }

  private func matches(_ text: String) -> Bool { text.lowercased().contains(self.text) }

  private static func lowercase(_ byte: UInt8) -> UInt8 {
    (0x41...0x5A).contains(byte) ? byte | 0x20 : byte
  }

  private static func contains(_ pattern: [UInt8], in bytes: [UInt8]) -> Bool {
    guard let first = pattern.first else { return true }
    guard bytes.count >= pattern.count else { return false }
    return bytes.withUnsafeBufferPointer { bytes in
      pattern.withUnsafeBufferPointer { pattern in
        for start in 0...bytes.count - pattern.count where lowercase(bytes[start]) == first {
          var length = 1
          while length < pattern.count, lowercase(bytes[start + length]) == pattern[length] {
            length += 1
          }
          if length == pattern.count { return true }
        }
        return false
      }
    }
  }
}
