/// The text of a JSON array with its elements, from which the next version of the text is read faster.
struct JSONDocument: Sendable {
  private(set) var bytes: [UInt8]
  private(set) var elements: [JSONElement] = []
  /// Where in the text each element begins.
  private var starts: [Int] = []
  /// The key's name as it stands in a canonical text.
  private let key: [UInt8]?

  /// How many elements at the start, and how many at the end, are those of the version before.
  private(set) var unchanged = (first: 0, last: 0)

  /// Reads a text.
  init(_ bytes: [UInt8], key: String?) throws(JSONError) {
    self.bytes = bytes
    self.key = key.map(JSONElement.quoted)
    try read(after: nil)
  }

  /// Reads the next version of a text: only what stands between the bytes that are the same at the
  /// start and at the end is looked at, and elements in there of the same text are kept as well.
  init(_ bytes: [UInt8], after previous: JSONDocument) throws(JSONError) {
    self.bytes = bytes
    key = previous.key
    try read(after: previous)
  }

  /// Whether it is the same text.
  func hasBytes(_ other: [UInt8]) -> Bool {
    JSONBytes.areEqual(bytes, bytes.indices, other, other.indices)
  }

  /// Where an element begins.
  func position(ofElement offset: Int) -> JSONError.Position? {
    starts.indices.contains(offset)
      ? JSONError.Position(of: starts[offset], in: bytes[JSONElement.bodyStart(of: bytes)...]) : nil
  }

  private mutating func read(after previous: JSONDocument?) throws(JSONError) {
    let window = previous.flatMap { Window(from: $0, to: bytes) }
    var elements: [JSONElement] = []
    var starts: [Int] = []
    if let previous, let window {
      elements = Array(previous.elements[..<window.first])
      starts = Array(previous.starts[..<window.first])
    }
    let key = key
    var last = 0
    (elements, starts, last) = try JSONElement.parse(bytes) {
      (scanner) throws(JSONScanner.Fault) in
      try Self.scan(
        &scanner, key: key, previous: previous, window: window, elements: elements,
        starts: starts)
    }
    self.elements = elements
    self.starts = starts
    unchanged = (window?.first ?? 0, last)
  }

  /// Where two versions differ.
  private struct Window {
    /// The elements before this one are the same, up to the start of this one.
    var first: Int
    /// In the new text: where it begins to be the same as the old one again.
    var suffixStart: Int
    /// How much further from the start the same element stands in the new text.
    var shift: Int

    init?(from old: JSONDocument, to new: [UInt8]) {
      let prefix = JSONBytes.commonPrefix(old.bytes, new)
      // The byte that an element begins with must be the same, too: it may be another one's end.
      let first = old.starts.partitioningIndex { $0 >= prefix } - 1
      guard first >= 0 else { return nil }
      self.first = first
      // What is before the window must not count as behind it, too.
      let suffix = JSONBytes.commonSuffix(
        old.bytes, new, limit: min(old.bytes.count, new.count) - old.starts[first])
      suffixStart = new.count - suffix
      shift = new.count - old.bytes.count
    }
  }

  private static func scan(
    _ scanner: inout JSONScanner, key: [UInt8]?, previous: JSONDocument?, window: Window?,
    elements: [JSONElement], starts: [Int]
  ) throws(JSONScanner.Fault) -> (elements: [JSONElement], starts: [Int], last: Int) {
    var elements = elements
    var starts = starts
    if let previous, let window {
      scanner.jump(to: previous.starts[window.first])
    } else if try !scanOpening(&scanner) {
      return ([], [], 0)
    }
    // The element of the version before that the next one may be.
    var candidate = window?.first ?? 0
    repeat {
      if scanner.next == nil { throw scanner.truncated("array") }
      let start = scanner.position
      if let previous, let window, start >= window.suffixStart {
        while candidate < previous.starts.count,
          previous.starts[candidate] + window.shift < start
        {
          candidate += 1
        }
        if candidate < previous.starts.count,
          previous.starts[candidate] + window.shift == start
        {
          // From here on every byte is the same, and was read before.
          elements += previous.elements[candidate...]
          starts += previous.starts[candidate...].lazy.map { $0 + window.shift }
          return (elements, starts, previous.starts.count - candidate)
        }
      }
      do throws(JSONScanner.Fault) {
        elements.append(try JSONElement.scanElement(&scanner, depth: 1, key: key))
      } catch {
        var fault = error
        fault.elementOffset = elements.count
        throw fault
      }
      starts.append(start)
      scanner.skipSpace()
    } while try scanner.scanSeparator(closing: UInt8(ascii: "]"), of: "array")
    try JSONElement.scanEnd(&scanner, after: "array")
    return (elements, starts, 0)
  }

  /// Passes the opening bracket, and an array of nothing as a whole.
  ///
  /// - Returns: whether there are elements.
  private static func scanOpening(
    _ scanner: inout JSONScanner
  ) throws(JSONScanner.Fault) -> Bool {
    let start = scanner.position
    guard scanner.next == UInt8(ascii: "[") else {
      let element = try JSONElement.scanElement(&scanner, depth: 0, key: nil)
      throw JSONScanner.Fault(
        code: .notAnArray, offset: start,
        reason: "\(element.kind.described) stands at the top level; an array is expected: "
          + "put [ and ] around the elements")
    }
    scanner.advance()
    scanner.skipSpace()
    guard scanner.next == UInt8(ascii: "]") else { return true }
    scanner.advance()
    try JSONElement.scanEnd(&scanner, after: "array")
    return false
  }
}

extension Array {
  /// The first index whose element has a property that all later ones have, too.
  func partitioningIndex(where belongs: (Element) -> Bool) -> Int {
    var low = 0
    var high = count
    while low < high {
      let middle = (low + high) / 2
      if belongs(self[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}
