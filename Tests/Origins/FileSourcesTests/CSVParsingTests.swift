import DataSourceTesting
import FileWatching
import Foundation
import ObservableCollections
import SwappablePrimitives
import TestSupport
import Testing

@testable import FileSources

/// A parser of rows that reads one scalar at a time, for comparison.
private struct Model {
  private enum State { case start, plain, quoted, afterQuote }

  /// The fields of each row, or `nil` for a row that is not valid.
  private(set) var rows: [[String]?] = []
  /// A Boolean value that indicates whether the text ends inside quotes.
  var isOpen: Bool { state == .quoted }
  private var state = State.start
  private var field: [Unicode.Scalar] = []
  /// The text after the closing quote of the field.
  private var rest: [Unicode.Scalar] = []
  private var row: [String] = []
  private var isValid = true

  init(_ text: String) {
    for scalar in text.unicodeScalars {
      switch (state, scalar) {
      case (.start, "\""): state = .quoted
      case (.quoted, "\""): state = .afterQuote
      case (.quoted, _): field.append(scalar)
      case (.afterQuote, "\"") where rest.isEmpty:
        field.append("\"")
        state = .quoted
      case (_, ","): endField(isLast: false)
      case (_, "\n"): endRow()
      case (.afterQuote, _): rest.append(scalar)
      default:
        field.append(scalar)
        state = .plain
      }
    }
    if isOpen {
      rows.append(nil)
    } else {
      endRow()
    }
  }

  private mutating func endField(isLast: Bool) {
    if isLast, state == .plain, field.last == "\r" { field.removeLast() }
    if !rest.isEmpty, !isLast || rest != ["\r"] { isValid = false }
    row.append(String(String.UnicodeScalarView(field)))
    (field, rest) = ([], [])
    if !isLast { state = .start }
  }

  private mutating func endRow() {
    let isQuoted = state == .afterQuote
    endField(isLast: true)
    if row != [""] || isQuoted { rows.append(isValid ? row : nil) }
    (state, row, isValid) = (.start, [], true)
  }
}

/// Returns all texts of an alphabet up to a length.
private func texts(of alphabet: [String], upTo length: Int) -> [String] {
  var all = [""]
  var latest = [""]
  for _ in 0..<length {
    latest = latest.flatMap { text in alphabet.map { text + $0 } }
    all += latest
  }
  return all
}

private let alphabet = ["a", ",", "\"", "\r", "\n"]

private func json(_ fields: [String], columns: [String]) -> String {
  var text: [UInt8] = []
  for (name, field) in zip(columns, fields) {
    text += text.isEmpty ? "{".utf8 : ",".utf8
    JSONText.append(name, to: &text)
    text += ":".utf8
    JSONText.append(field, to: &text)
  }
  return String(decoding: text, as: UTF8.self) + "}"
}

@Suite struct CSVParsingTests {
  /// Parses a text after the header `x,y`.
  private func batch(
    _ text: String, columns: [String] = ["x", "y"], numbers: Bool = false, linesBefore: Int = 1,
    isStrict: Bool = false
  ) -> LineBatch {
    LineBatch(
      rows: Array(text.utf8), CSVForm(delimiter: ",", hasNumbers: numbers),
      columns: columns.map(JSONElement.quoted), key: nil, linesBefore: linesBefore, isWhole: true,
      isStrict: isStrict)
  }

  private func values(_ batch: LineBatch) -> [String] {
    batch.spans.map { String(decoding: batch.text[$0], as: UTF8.self) }
  }

  /// Parses a text that arrives in parts.
  private func stream(
    _ parts: [String], isStrict: Bool = false
  ) throws -> (values: [String], skipped: SkippedLines) {
    var stream = CSVStream(delimiter: ",", key: nil, hasNumbers: false, isStrict: isStrict)
    var (bytes, values) = ([UInt8](), [String]())
    for part in parts {
      bytes += part.utf8
      values += try stream.takeElements(from: &bytes, isAtEnd: false).map(\.description)
    }
    values += try stream.takeElements(from: &bytes, isAtEnd: true).map(\.description)
    return (values, stream.skipped)
  }

  @Test(arguments: [["x"], ["x", "y"]])
  func `all short texts are parsed as a simple parser parses them`(columns: [String]) {
    for text in texts(of: alphabet, upTo: 7) {
      let model = Model(text)
      let batch = batch(text, columns: columns)
      let isComplete = text.isEmpty || text.utf8.last == 0x0A && !model.isOpen
      let valid = model.rows.compactMap { $0?.count == columns.count ? $0 : nil }
      let isSame =
        values(batch) == valid.map { json($0, columns: columns) }
        && batch.malformedCount == model.rows.count - valid.count
        && batch.lineCount == text.utf8.count { $0 == 0x0A } + (isComplete ? 0 : 1)
        && batch.end == text.utf8.count
      if !isSame { Issue.record("\(text.debugDescription): \(values(batch)), \(model.rows)") }
    }
  }

  @Test func `rows are the same wherever a text is split`() throws {
    for text in texts(of: alphabet, upTo: 5) {
      let whole = batch(text)
      let bytes = ("x,y\n" + text).unicodeScalars.map { String($0) }
      let splits = [bytes] + bytes.indices.map { [bytes[..<$0].joined(), bytes[$0...].joined()] }
      for parts in splits {
        let (values, skipped) = try stream(parts)
        let isSame =
          values == self.values(whole) && skipped.count == whole.malformedCount
          && skipped.latest == whole.error?.error
        if !isSame { Issue.record("\(parts): \(values), \(self.values(whole))") }
      }
    }
  }

  @Test(arguments: [
    ("1,2", #"{"x":1,"y":2}"#), ("-0.50,1e+400", #"{"x":-0.50,"y":1e+400}"#),
    ("007,+1", #"{"x":"007","y":"+1"}"#), ("\"1\",", #"{"x":"1","y":""}"#),
    ("1 ,.5", #"{"x":"1 ","y":".5"}"#), ("-,1.", #"{"x":"-","y":"1."}"#),
    ("12345678901234567890,0x1", #"{"x":12345678901234567890,"y":"0x1"}"#),
  ])
  func `fields that are JSON numbers become numbers as they are written`(
    row: String, value: String
  ) {
    #expect(values(batch(row, numbers: true)) == [value])
    #expect(!values(batch(row))[0].contains(":1"))
  }

  @Test(arguments: [
    ("1\n", "line 3, column 1: the row has 1 field, but the header has 2; add the missing fields"),
    ("\n\n1,2,3\n", "line 5, column 1: the row has 3 fields, but the header has 2; put a field"),
    ("\"a\nb\",\"c\"d\n", "line 4, column 7: text follows the closing quote of a field"),
    ("1,2\n\"ü\", \"\"\n3,\"\n\n", "line 5, column 3: the quote that begins here is not closed"),
  ])
  func `an error has the line and the column`(rows: String, message: String) throws {
    let error = try #require(batch(rows, linesBefore: 2).error)
    #expect("\(error.error)".hasPrefix(message), "\(error.error)")
  }

  @Test func `bytes that are not UTF-8 are an error`() throws {
    let batch = LineBatch(
      rows: Array("1,2\n".utf8) + [0x33, 0x2C, 0xE9, 0x0A], CSVForm(delimiter: ","),
      columns: ["x", "y"].map(JSONElement.quoted), key: nil, linesBefore: 1, isWhole: false,
      isStrict: false)
    #expect(values(batch) == [#"{"x":"1","y":"2"}"#])
    #expect(
      batch.error.map { "\($0.error)" }
        == "line 3, column 1: the row has a byte that is not UTF-8; save the text as UTF-8")
  }

  @Test(arguments: [
    ("a,b,a", "line 2, column 1: two columns are named \"a\"; rename one of them in the header"),
    ("a,,b", "line 2, column 1: column 2 has no name; the header must name each column"),
    ("a,b,", "line 2, column 1: column 3 has no name"), ("a,\"b\"c", "line 2, column 6: text"),
    (
      "a,b",
      "line 2, column 1: the header has no column \"id\", which is the key; its columns are a, b"
    ),
  ])
  func `a header that cannot be used is an error`(header: String, message: String) throws {
    var stream = CSVStream(delimiter: ",", key: "id", hasNumbers: false, isStrict: false)
    var bytes = Array("\n\(header)\n1,2,3\n".utf8)
    let error = try #require(throws: JSONElement.ParsingError.self) {
      _ = try stream.takeElements(from: &bytes, isAtEnd: false)
    }
    #expect("\(error)".hasPrefix(message), "\(error)")
  }

  @Test func `a byte order mark precedes the header only`() throws {
    let mark = "\u{FEFF}"
    #expect(
      try stream(["\(mark)\"x\",y\r\n", "\(mark)1,2"]).values == [#"{"x":"\#(mark)1","y":"2"}"#])
  }

  @Test func `a quote that is never closed is an error before the text fills the memory`() throws {
    var stream = CSVStream(delimiter: ",", key: nil, hasNumbers: false, isStrict: false)
    var bytes = Array("x\n1\n\n\"2\n".utf8)
    let part = [UInt8](repeating: UInt8(ascii: "a"), count: 1 << 20)
    var (parts, count) = (0, 0)
    let error = try #require(throws: JSONElement.ParsingError.self) {
      while parts < 1_000 {
        count += try stream.takeElements(from: &bytes, isAtEnd: false).count
        bytes += part
        parts += 1
      }
    }
    #expect((count, parts) == (1, 16))
    #expect(
      "\(error)"
        == "line 4, column 1: the quote that begins here is not closed within 16777216 bytes; "
        + "add the closing quote")
  }

  // MARK: Reading again

  /// Reads a text as a file, and returns the elements and the number of decoded rows.
  private func read(
    _ text: [UInt8], partSize: Int, reusing old: (cursor: LineCursor, elements: [JSONElement])?
  ) throws -> (lines: ReadLines<JSONElement>, decodedCount: Int) {
    let stamp = FileStamp(
      identity: FileIdentity(device: 1, inode: 1), size: Int64(text.count), modified: 1, changed: 1)
    let file = OpenedFile(path: "/a", stamp: { .success(stamp) }) { offset, buffer in
      let bytes = text[offset...].prefix(buffer.count)
      buffer.copyBytes(from: bytes)
      return .success(bytes.count)
    }
    let decodedCount = Shared(0)
    let reader = LinesReader<JSONElement>(
      path: "/a", form: .csv(CSVForm(delimiter: ",", partSize: partSize)), key: nil,
      decoding: ElementDecoding(each: { element in
        decodedCount.modify { $0 += 1 }
        return element
      }), isStrict: false)
    let known = old.map {
      KnownLines(before: $0.cursor, ArrayDataSource($0.elements).snapshot, size: stamp.size)
    }
    let lines = try reader.read(
      file, from: nil, margins: FileMargins(), stamp: stamp, reusing: known)
    return (lines, decodedCount.value)
  }

  @Test(arguments: 0..<40 as Range<UInt64>)
  func `a file that was edited is read as if it were new`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let bytes = ["a", "b", ",", ",", "\n", "\n", "\"", "\u{0}", "ü"]
    func piece(_ count: Int) -> [UInt8] {
      Array((0..<count).map { _ in bytes[random.below(bytes.count)] }.joined().utf8)
    }
    var text = Array("x,y\n".utf8) + piece(200)
    var old: (cursor: LineCursor, elements: [JSONElement])?
    for _ in 0..<60 {
      let new = try read(text, partSize: 16, reusing: old)
      let whole = try read(text, partSize: 1 << 20, reusing: nil).lines
      try #require(new.lines.elements == whole.elements, "seed \(seed)")
      try #require(new.lines.error == whole.error, "seed \(seed)")
      try #require(new.lines.openLine == whole.openLine, "seed \(seed)")
      #expect(new.lines.cursor.lineCount == whole.cursor.lineCount, "seed \(seed)")
      #expect(new.lines.cursor.position == whole.cursor.position, "seed \(seed)")
      #expect(new.lines.cursor.skipped.count == whole.cursor.skipped.count, "seed \(seed)")
      #expect(new.lines.cursor.skipped.latest == whole.cursor.skipped.latest, "seed \(seed)")
      #expect(new.lines.cursor.skipped.zeros == whole.cursor.skipped.zeros, "seed \(seed)")
      if new.lines.error == nil { old = (new.lines.cursor, new.lines.elements) }
      // Few edits are in the header.
      let start = random.oneIn(10) ? 0 : 4 + random.below(text.count - 4)
      let end = min(text.count, start + random.below(20))
      // Zeros at the start look like UTF-16.
      text.replaceSubrange(
        start..<end, with: (start == 0 ? [0x78, 0x2C] : []) + piece(random.below(20)))
      if text.count < 100 { text += piece(200) }
    }
  }

  @Test func `an edit decodes only the rows near it`() throws {
    var header = "x,y\r\n"
    var rows = (0..<10_000).map { "\($0),\"text, of \($0)\"\r\n" }
    func bytes() -> [UInt8] { Array((header + rows.joined()).utf8) }
    var old = try read(bytes(), partSize: 4_096, reusing: nil)
    #expect(old.decodedCount == 10_000)
    // A part has about 200 rows.
    func expectReads(_ count: Int, _ edit: () -> Void) throws {
      edit()
      let new = try read(bytes(), partSize: 4_096, reusing: (old.lines.cursor, old.lines.elements))
      #expect(new.decodedCount <= count)
      #expect(new.lines.elements.count == rows.count)
      old = new
    }
    try expectReads(0) {}
    try expectReads(250) { rows[5_000] = "5000,\"\"\n" }
    try expectReads(250) { rows.append("10000,last\n") }
    try expectReads(250) { rows.insert("-1,\"first\nrow\"\n", at: 0) }
    try expectReads(500) { rows.removeSubrange(7_000..<7_002) }
    try expectReads(250) { rows.removeLast() }
    #expect(
      old.lines.elements.map { $0["x"]?.string ?? "" }
        == rows.map { String($0.prefix { $0 != "," }) })
    header = "z,y\n"
    let renamed = try read(
      bytes(), partSize: 4_096, reusing: (old.lines.cursor, old.lines.elements))
    #expect(renamed.decodedCount == rows.count)
    #expect(renamed.lines.elements.allSatisfy { $0["z"] != nil })
  }
}
