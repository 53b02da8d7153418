/// The values of some lines of JSON Lines.
struct JSONLineBatch {
  /// A line that cannot be read.
  struct Fault: Error {
    var error: JSONError
    /// Its number in the file, from 1.
    var line: Int
    /// Where in the bytes it ends.
    var end: Int
  }

  /// Where each value stands in the bytes.
  private(set) var spans: [Range<Int>] = []
  /// For each value the number of its line, and where that ends.
  private(set) var places: [(line: Int, end: Int)] = []
  private(set) var lineCount = 0
  /// What is wrong with the line behind these, if something is; no line after it was read.
  private(set) var fault: Fault?

  /// Reads one value a line; blank lines hold none.
  ///
  /// - Parameters:
  ///   - bytes: what holds the lines.
  ///   - range: where they stand; the last one may lack its newline.
  ///   - linesBefore: how many lines precede them in the file.
  init(_ bytes: [UInt8], _ range: Range<Int>, linesBefore: Int) {
    var faulty: (line: Int, range: Range<Int>, end: Int)?
    do throws(JSONScanner.Fault) {
      (spans, places, lineCount, faulty) = try JSONScanner.withScanner(
        of: bytes, from: range.lowerBound, capacity: 0
      ) { (scanner) throws(JSONScanner.Fault) in
        var spans: [Range<Int>] = []
        var places: [(line: Int, end: Int)] = []
        var count = 0
        var start = range.lowerBound
        while start < range.upperBound {
          let newline = bytes[start..<range.upperBound].firstIndex(of: 0x0A)
          let end = newline.map { $0 + 1 } ?? range.upperBound
          count += 1
          let value = Self.trimmed(bytes, start..<end)
          start = end
          if value.isEmpty { continue }
          scanner.jump(to: value.lowerBound)
          var noKey: JSONScanner.KeyMatch?
          let isValue = (try? scanner.scanValue(depth: 0, key: &noKey)) != nil
          // A value that goes on in the next line was not meant as one.
          guard isValue, scanner.position == value.upperBound else {
            return (spans, places, count, (linesBefore + count, value, end))
          }
          spans.append(value)
          places.append((linesBefore + count, end))
        }
        return (spans, places, count, nil)
      }
    } catch {
      preconditionFailure("a fault of a line left the loop over the lines: \(error)")
    }
    if let faulty {
      let error = Self.error(of: bytes[faulty.range], line: faulty.line)
      fault = Fault(error: error, line: faulty.line, end: faulty.end)
    }
  }

  /// A range of bytes without the white space around it.
  static func trimmed(_ bytes: [UInt8], _ range: Range<Int>) -> Range<Int> {
    var (start, end) = (range.lowerBound, range.upperBound)
    while start < end, isSpace(bytes[start]) { start += 1 }
    while start < end, isSpace(bytes[end - 1]) { end -= 1 }
    return start..<end
  }

  private static func isSpace(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
  }

  /// What is wrong with a line, which is looked at once more by itself.
  private static func error(of line: ArraySlice<UInt8>, line number: Int) -> JSONError {
    let bytes = Array(line)
    do throws(JSONScanner.Fault) {
      try JSONScanner.withScanner(of: bytes, from: 0, capacity: 0) {
        (scanner) throws(JSONScanner.Fault) in
        var noKey: JSONScanner.KeyMatch?
        try scanner.scanValue(depth: 0, key: &noKey)
        scanner.skipSpace()
        if scanner.next != nil {
          throw scanner.unexpected(expecting: "the end of the line after the value")
        }
      }
      preconditionFailure("line \(number) is faulty among others and right by itself")
    } catch {
      let hint = error.code == .truncated ? "; in JSON Lines each value stands on one line" : ""
      var position = JSONError.Position(of: error.offset, in: bytes[...])
      position.line = number
      return JSONError(code: error.code, reason: error.reason + hint, position: position)
    }
  }
}
