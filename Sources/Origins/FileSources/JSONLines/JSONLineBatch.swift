/// The ranges of the values in some lines of JSON Lines.
struct JSONLineBatch {
  /// An error in a malformed line.
  struct LineError: Error {
    var error: JSONElement.ParsingError
    /// The number of the line in the file. The first line has the number 1.
    var line: Int
    /// The offset of the line's end.
    var end: Int
  }

  /// The range of each value.
  private(set) var spans: [Range<Int>] = []
  /// For each value, the number of its line and the offset of the line's end.
  private(set) var places: [(line: Int, end: Int)] = []
  private(set) var lineCount = 0
  private(set) var malformedCount = 0
  /// The number of zero bytes at the starts of lines.
  private(set) var zeroCount = 0
  /// The error of the last malformed line.
  private(set) var error: LineError?

  /// Checks one value on each line. Blank lines have no value.
  ///
  /// - Parameters:
  ///   - bytes: The bytes that contain the lines.
  ///   - range: The range of the lines. The last line may lack its newline.
  ///   - linesBefore: The number of lines that precede the range in the file.
  ///   - isStrict: A Boolean value that indicates whether the lines end after a malformed line.
  init(_ bytes: [UInt8], _ range: Range<Int>, linesBefore: Int, isStrict: Bool) {
    var malformed: (number: Int, line: Range<Int>)?
    JSONScanner.withScanner(of: bytes, from: range.lowerBound, capacity: 0) { scanner in
      var start = range.lowerBound
      while start < range.upperBound {
        let newline = bytes[start..<range.upperBound].firstIndex(of: 0x0A)
        let line = start..<(newline.map { $0 + 1 } ?? range.upperBound)
        start = line.upperBound
        lineCount += 1
        let value = Self.trimmed(bytes, line)
        if bytes[line.lowerBound] == 0 { zeroCount += bytes[line].prefix { $0 == 0 }.count }
        if value.isEmpty { continue }
        scanner.restart(at: value)
        var noKey: JSONScanner.KeyMatch?
        let isValue = (try? scanner.scanValue(depth: 0, key: &noKey)) != nil
        // A value that continues on the next line is malformed.
        guard isValue, scanner.position == value.upperBound else {
          malformedCount += 1
          malformed = (linesBefore + lineCount, line)
          if isStrict { break }
          continue
        }
        spans.append(value)
        places.append((linesBefore + lineCount, line.upperBound))
      }
    }
    if let (number, line) = malformed {
      let start = JSONText.bodyStart(of: bytes[line].drop { $0 == 0 })
      let text = bytes[start..<Self.trimmed(bytes, line).upperBound]
      error = LineError(
        error: Self.error(of: text, line: number), line: number, end: line.upperBound)
    }
  }

  /// Returns the error of a value that cannot be decoded.
  func lineError(of error: ElementDecodingError) -> LineError {
    let (line, end) = places[error.offset]
    return LineError(
      error: JSONElement.ParsingError(
        code: error.code, reason: error.reason,
        position: JSONElement.ParsingError.Position(line: line, column: 1)),
      line: line, end: end)
  }

  /// Returns the range of a line without zeros and byte order marks at its start, and without the white space at its ends.
  ///
  /// If files are put together, the marks of the later files are at the starts of lines.
  static func trimmed(_ bytes: [UInt8], _ line: Range<Int>) -> Range<Int> {
    let body = bytes[line].drop { $0 == 0 }
    var (start, end) = (JSONText.bodyStart(of: body), line.upperBound)
    while start < end, isSpace(bytes[start]) { start += 1 }
    while start < end, isSpace(bytes[end - 1]) { end -= 1 }
    return start..<end
  }

  private static func isSpace(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
  }

  /// Returns the error of a malformed line, which is scanned again by itself.
  private static func error(of line: ArraySlice<UInt8>, line number: Int)
    -> JSONElement.ParsingError
  {
    let bytes = Array(line)
    do throws(JSONScanner.ScanError) {
      try JSONScanner.withScanner(of: bytes, from: 0, capacity: 0) {
        (scanner) throws(JSONScanner.ScanError) in
        var noKey: JSONScanner.KeyMatch?
        scanner.skipSpace()
        try scanner.scanValue(depth: 0, key: &noKey)
        scanner.skipSpace()
        if scanner.next != nil {
          throw scanner.unexpected(expecting: "the end of the line after the value")
        }
      }
      preconditionFailure("line \(number) is malformed among other lines, but not by itself")
    } catch {
      let hint = error.code == .truncated ? "; in JSON Lines, each value is on one line" : ""
      var position = JSONElement.ParsingError.Position(of: error.offset, in: bytes[...])
      position.line = number
      return JSONElement.ParsingError(
        code: error.code, reason: error.reason + hint, position: position)
    }
  }
}
