/// The form of the lines of a file.
enum LineForm: Sendable {
  /// A JSON value on each line.
  case json
  /// A header and rows of fields.
  case csv(CSVForm)

  /// The number of bytes that are read and decoded at once, unless a line is longer.
  var partSize: Int {
    switch self {
    case .json: 4 << 20
    case .csv(let form): form.partSize
    }
  }

  var maximumLineLength: Int {
    switch self {
    case .json: 256 << 20
    case .csv: CSVForm.maximumRowLength
    }
  }

  /// The first part of the codes of errors.
  var code: String {
    switch self {
    case .json: "json"
    case .csv: "csv"
    }
  }

  /// Returns the values of the complete lines at the start of a text.
  ///
  /// - Parameters:
  ///   - bytes: The text.
  ///   - columns: The columns of rows, or `nil` before the header.
  ///   - key: The name of the member that identifies an element, if there is one.
  ///   - linesBefore: The number of lines that precede the text in the file.
  ///   - isWhole: A Boolean value that indicates whether the last line counts without its newline.
  ///   - isStrict: A Boolean value that indicates whether the lines end after a malformed line.
  func batch(
    of bytes: [UInt8], columns: [[UInt8]]?, key: String?, linesBefore: Int, isWhole: Bool = false,
    isStrict: Bool
  ) -> LineBatch {
    switch self {
    case .json:
      let end = isWhole ? bytes.count : bytes.lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
      return LineBatch(bytes, 0..<end, linesBefore: linesBefore, isStrict: isStrict)
    case .csv(let form):
      return LineBatch(
        rows: bytes, form, columns: columns, key: key, linesBefore: linesBefore, isWhole: isWhole,
        isStrict: isStrict)
    }
  }

  /// Returns the range of a line that has no newline yet, without the bytes around it that do not count.
  func trimmed(_ line: [UInt8]) -> Range<Int> {
    switch self {
    case .json: return LineBatch.trimmed(line, line.indices)
    case .csv:
      let body = line.drop { $0 == 0 }
      return body.startIndex..<(body.last == 0x0D ? body.endIndex - 1 : body.endIndex)
    }
  }
}

/// The values in some lines, as ranges of a JSON text.
struct LineBatch {
  /// An error in a malformed line.
  struct LineError: Error {
    var error: JSONElement.ParsingError
    /// The number of the line in the file. The first line has the number 1.
    var line: Int
    /// The offset of the line's end.
    var end: Int
  }

  /// The text that contains the values.
  var text: [UInt8] = []
  /// The range of each value.
  var spans: [Range<Int>] = []
  /// For each value, the number of its line and the offset of the line's end.
  var places: [(line: Int, end: Int)] = []
  /// The offset after the complete lines.
  var end = 0
  var lineCount = 0
  var malformedCount = 0
  /// The number of zero bytes at the starts of lines.
  var zeroCount = 0
  /// The error of the last malformed line.
  var error: LineError?
  /// The names of the columns, as JSON strings, or `nil` before the header.
  var columns: [[UInt8]]?
  /// A Boolean value that indicates whether no line can be read after the malformed one, which is the header.
  var isHeaderMalformed = false
  /// The position of the opening quote if the row after the complete ones ends inside a quoted field.
  var openQuote: JSONElement.ParsingError.Position?

  init() {}

  /// Checks one JSON value on each line. Blank lines have no value.
  ///
  /// - Parameters:
  ///   - bytes: The bytes that contain the lines.
  ///   - range: The range of the lines. The last line may lack its newline.
  ///   - linesBefore: The number of lines that precede the range in the file.
  ///   - isStrict: A Boolean value that indicates whether the lines end after a malformed line.
  init(_ bytes: [UInt8], _ range: Range<Int>, linesBefore: Int, isStrict: Bool) {
    (text, end) = (bytes, range.upperBound)
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
