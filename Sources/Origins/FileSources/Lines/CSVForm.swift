import SwappablePrimitives

/// The form of a file with a header and rows of fields, as RFC 4180 describes it.
struct CSVForm: Sendable {
  /// The maximum number of bytes of a row. A quote that is not closed makes the rest of the file one row.
  static let maximumRowLength = 16 << 20

  /// The byte between two fields.
  let delimiter: UInt8
  /// A Boolean value that indicates whether a field that is a JSON number becomes a number.
  let hasNumbers: Bool
  /// The number of bytes that are read and decoded at once, unless a row is longer.
  let partSize: Int

  init(delimiter: Character, hasNumbers: Bool = false, partSize: Int = 256 << 10) {
    guard let byte = delimiter.asciiValue, ![0x22, 0x0A, 0x0D, 0].contains(byte),
      delimiter != "\r\n"
    else {
      preconditionFailure(
        "delimiter must be an ASCII character that is neither a quote nor a line break, "
          + "but is \(delimiter.debugDescription)")
    }
    (self.delimiter, self.hasNumbers, self.partSize) = (byte, hasNumbers, partSize)
  }
}

/// The ranges of the fields of a row.
private struct CSVRow {
  private static let quote = UInt8(ascii: "\"")

  let delimiter: UInt8
  /// The range of each field, with its quotes.
  private(set) var fields: [Range<Int>] = []
  /// The offset after the line break of the row.
  private(set) var end = 0
  /// The number of lines of the row.
  private(set) var lineCount = 0
  /// The reason why the row has no element, and its offset.
  var fault: (code: JSONElement.ParsingError.Code, reason: String, offset: Int)?

  init(delimiter: UInt8) { self.delimiter = delimiter }

  /// A Boolean value that indicates whether the row is a line without any character.
  var isEmpty: Bool { fields.count == 1 && fields[0].isEmpty && fault == nil }

  /// Finds the fields of the row at an offset.
  ///
  /// - Parameters:
  ///   - bytes: The text.
  ///   - start: The offset of the row.
  ///   - isWhole: A Boolean value that indicates whether the row may end without a line break.
  /// - Returns: `false` if the row may continue after the text. Then the fault may be a quote that is not closed.
  mutating func scan(_ bytes: [UInt8], from start: Int, isWhole: Bool) -> Bool {
    fields.removeAll(keepingCapacity: true)
    (end, lineCount, fault) = (start, 1, nil)
    var hasMultibyte = false
    while true {
      let field = end
      let isQuoted = field < bytes.count && bytes[field] == Self.quote
      var isClosed = !isQuoted
      if isQuoted { end += 1 }
      while !isClosed, end < bytes.count {
        let byte = bytes[end]
        end += 1
        if byte == Self.quote {
          // Two quotes are a quote in the field.
          isClosed = end == bytes.count || bytes[end] != Self.quote
          if !isClosed { end += 1 }
        } else if byte == 0x0A {
          lineCount += 1
        } else if byte >= 0x80 {
          hasMultibyte = true
        }
      }
      if !isClosed {
        fault = (
          .truncated, "the quote that begins here is not closed; add the closing quote", field
        )
      }
      let rest = end
      while end < bytes.count, bytes[end] != delimiter, bytes[end] != 0x0A {
        if bytes[end] >= 0x80 { hasMultibyte = true }
        end += 1
      }
      let isLast = end == bytes.count || bytes[end] == 0x0A
      let fieldEnd = isLast && end > rest && bytes[end - 1] == 0x0D ? end - 1 : end
      if isQuoted, fieldEnd > rest, fault == nil {
        fault = (
          .syntax,
          "text follows the closing quote of a field; write a quote in a field as two quotes", rest
        )
      }
      fields.append(field..<fieldEnd)
      if end == bytes.count, !isWhole { return false }
      end = min(end + 1, bytes.count)
      if isLast { break }
    }
    if hasMultibyte, fault == nil, String(validating: bytes[start..<end], as: UTF8.self) == nil {
      fault = (
        .encoding, "the row has a byte that is not UTF-8; save the text as UTF-8", start
      )
    }
    return true
  }

  /// Appends the contents of a field, as a JSON string or number.
  static func append(
    _ field: Range<Int>, of bytes: [UInt8], asNumberIf isNumber: (Range<Int>) -> Bool,
    to text: inout [UInt8]
  ) {
    guard let first = bytes[field].first else {
      text += [quote, quote]
      return
    }
    if first == quote {
      var contents = Array(bytes[field].dropFirst().dropLast())
      if contents.contains(quote) {
        var isSecond = false
        contents.removeAll { byte in
          isSecond = byte == quote && !isSecond
          return isSecond
        }
      }
      JSONText.append(utf8: contents[...], to: &text)
    } else if first == UInt8(ascii: "-") || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first),
      isNumber(field)
    {
      text += bytes[field]
    } else {
      JSONText.append(utf8: bytes[field], to: &text)
    }
  }
}

extension LineBatch {
  /// Makes an object of each row. Empty lines have no value.
  ///
  /// - Parameters:
  ///   - bytes: The text.
  ///   - form: The form of the rows.
  ///   - columns: The names of the columns, or `nil` if the header is the first row.
  ///   - key: The name of the column that identifies an element, if there is one.
  ///   - linesBefore: The number of lines that precede the text in the file.
  ///   - isWhole: A Boolean value that indicates whether the last row counts without its line break.
  ///   - isStrict: A Boolean value that indicates whether the rows end after a malformed one.
  init(
    rows bytes: [UInt8], _ form: CSVForm, columns: [[UInt8]]?, key: String?, linesBefore: Int,
    isWhole: Bool, isStrict: Bool
  ) {
    self.columns = columns
    var row = CSVRow(delimiter: form.delimiter)
    var malformed: (start: Int, line: Int, row: CSVRow)?
    JSONScanner.withScanner(of: bytes, from: 0, capacity: 0) { scanner in
      while end < bytes.count {
        var start = bytes[end...].firstIndex { $0 != 0 } ?? bytes.count
        let zeros = start - end
        if self.columns == nil { start = JSONText.bodyStart(of: bytes[start...]) }
        let line = linesBefore + lineCount + 1
        guard row.scan(bytes, from: start, isWhole: isWhole) else {
          if let fault = row.fault, fault.code == .truncated {
            openQuote = Self.position(of: fault.offset, in: bytes[start...], line: line)
          }
          break
        }
        (end, zeroCount) = (row.end, zeroCount + zeros)
        lineCount += row.lineCount
        if row.isEmpty { continue }
        let isHeader = self.columns == nil
        if row.fault == nil {
          row.fault = (isHeader ? setColumns(row, bytes, key: key) : fieldCountFault(row)).map {
            ($0.code, $0.reason, start)
          }
        }
        if row.fault != nil {
          malformed = (start, line, row)
          malformedCount += 1
          isHeaderMalformed = isHeader
          if isStrict || isHeader { break }
        }
        guard let names = self.columns, row.fault == nil, !isHeader else { continue }
        let first = text.count
        for (name, field) in zip(names, row.fields) {
          text.append(text.count == first ? UInt8(ascii: "{") : UInt8(ascii: ","))
          text += name
          text.append(UInt8(ascii: ":"))
          CSVRow.append(field, of: bytes, asNumberIf: { form.isNumber($0, &scanner) }, to: &text)
        }
        text.append(UInt8(ascii: "}"))
        spans.append(first..<text.count)
        places.append((line, row.end))
      }
    }
    guard let (start, line, row) = malformed, let fault = row.fault else { return }
    let position = Self.position(of: fault.offset, in: bytes[start...], line: line)
    error = LineError(
      error: JSONElement.ParsingError(code: fault.code, reason: fault.reason, position: position),
      line: line, end: row.end)
  }

  /// Reads the names of the columns, and returns an error if they do not tell the columns apart.
  private mutating func setColumns(
    _ row: CSVRow, _ bytes: [UInt8], key: String?
  ) -> (code: JSONElement.ParsingError.Code, reason: String)? {
    var names: [[UInt8]] = []
    for field in row.fields {
      var name: [UInt8] = []
      CSVRow.append(field, of: bytes, asNumberIf: { _ in false }, to: &name)
      if name.count == 2 {
        return (
          .syntax, "column \(names.count + 1) has no name; the header must name each column"
        )
      }
      if names.contains(name) {
        let shown = String(decoding: name, as: UTF8.self)
        return (.syntax, "two columns are named \(shown); rename one of them in the header")
      }
      names.append(name)
    }
    columns = names
    guard let key, !names.contains(JSONElement.quoted(key)),
      KeyFields(key)?.areColumns(of: names) != true
    else { return nil }
    let shown = names.prefix(8).map { JSONText.decoded($0[...]) }.joined(separator: ", ")
    return (
      .missingKey,
      "the header has no column \"\(key)\", which is the key; its columns are \(shown)"
        + (names.count > 8 ? ", …" : "")
    )
  }

  /// Returns an error if a row has more or fewer fields than the header.
  private func fieldCountFault(
    _ row: CSVRow
  ) -> (code: JSONElement.ParsingError.Code, reason: String)? {
    let (count, expected) = (row.fields.count, columns?.count ?? 0)
    if count == expected { return nil }
    let remedy =
      count > expected
      ? "put a field that contains the delimiter in quotes" : "add the missing fields"
    return (
      .syntax,
      "the row has \(count) field\(count == 1 ? "" : "s"), but the header has \(expected); \(remedy)"
    )
  }

  /// Returns the position of an offset in a row.
  ///
  /// - Parameter line: The number of the line in which the row begins.
  private static func position(
    of offset: Int, in row: ArraySlice<UInt8>, line: Int
  ) -> JSONElement.ParsingError.Position {
    let before = row[..<offset]
    let lastLine = before.lastIndex(of: 0x0A).map { before[($0 + 1)...] } ?? before
    return JSONElement.ParsingError.Position(
      line: line + before.count { $0 == 0x0A },
      column: lastLine.count { $0 & 0xC0 != 0x80 } + 1)
  }
}

extension CSVForm {
  /// Returns a Boolean value that indicates whether a field is a JSON number that becomes a number.
  fileprivate func isNumber(_ field: Range<Int>, _ scanner: inout JSONScanner) -> Bool {
    guard hasNumbers else { return false }
    var noKey: JSONScanner.KeyMatch?
    scanner.restart(at: field)
    return (try? scanner.scanValue(depth: 0, key: &noKey)) != nil
      && scanner.position == field.upperBound
  }
}
