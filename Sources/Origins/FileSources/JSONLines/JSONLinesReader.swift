import FileWatching
package import ObservableCollections
import SwappablePrimitives

/// The parts of a file that have no element: lines that cannot be read, and zeros before lines.
package struct SkippedLines: Sendable {
  package var count = 0
  /// The error of the last line.
  package var latest: JSONElement.ParsingError?
  /// The number of zero bytes before lines.
  var zeros = 0

  package init(count: Int = 0, latest: JSONElement.ParsingError? = nil, zeros: Int = 0) {
    (self.count, self.latest, self.zeros) = (count, latest, zeros)
  }

  /// Adds the lines that follow.
  mutating func append(_ next: SkippedLines) {
    count += next.count
    latest = next.latest ?? latest
    zeros += next.zeros
  }

  /// Returns a diagnostic with the number of zero bytes, or `nil` if there are none.
  func zeroDiagnostic(path: String) -> SourceStatus.Diagnostic? {
    guard zeros > 0 else { return nil }
    return SourceStatus.Diagnostic(
      code: "nul-bytes",
      message:
        "\(zeros) NUL bytes before lines of \(path) are skipped. Usually, the file was truncated while "
        + "its writer went on at its old place; let the writer append (O_APPEND).")
  }

  /// Returns a diagnostic with the number of the lines and the latest error, or `nil` if there are none.
  package func diagnostic(path: String) -> SourceStatus.Diagnostic? {
    guard let latest else { return nil }
    let message =
      count == 1
      ? "1 line of \(path) is skipped because it cannot be read: \(latest)."
      : "\(count) lines of \(path) are skipped because they cannot be read; "
        + "the latest is \(latest)."
    return SourceStatus.Diagnostic(code: "malformed-lines", message: message)
  }
}

/// The lines that were read from a file of JSON Lines.
struct JSONLines<Element: Sendable>: Sendable {
  /// The values of the complete lines, and of a last line without a newline if it counts.
  var elements: [Element]
  /// The position after the complete lines.
  var cursor: LineCursor
  /// The last line if it has no newline, without the white space around it.
  var openLine: [UInt8] = []
  /// The error of the line before the cursor if it is malformed and the reader is strict.
  var error: JSONElement.ParsingError?
  /// A Boolean value that indicates whether the first element replaces the last element of the previous
  /// read, which was read before its line was complete.
  var replacesLast = false
}

/// A reader of lines. It reads the file in parts and keeps one part at a time.
struct JSONLinesReader<Element: Sendable>: Sendable {
  /// The path of the file.
  let path: ByteString
  /// The name of the member that identifies an element, if there is one.
  let key: String?
  let decoding: ElementDecoding<Element>
  /// A Boolean value that indicates whether a malformed line ends the read. Otherwise, it is skipped.
  let isStrict: Bool

  /// The number of bytes that are read at once, unless a line is longer.
  private static var partSize: Int { 4 << 20 }
  private static var maximumLineLength: Int { 256 << 20 }

  /// Returns the margins of the bytes before a cursor, or `nil` if these bytes may have changed.
  func margins(
    at cursor: LineCursor, in file: OpenedFile, _ stamp: FileStamp
  ) throws(ReadFailure) -> FileMargins? {
    guard stamp.identity == cursor.stamp.identity, stamp.size >= cursor.position else { return nil }
    let margins = try FileMargins(of: file, upTo: cursor.position)
    return cursor.holds(for: stamp, margins: margins) ? margins : nil
  }

  /// Returns a Boolean value that indicates whether the file has not changed since a stamp, or was only
  /// appended to.
  func isSettled(
    _ file: OpenedFile, since stamp: FileStamp, _ cursor: LineCursor
  ) throws(ReadFailure) -> Bool {
    let now = try file.stamp().mapError(ReadFailure.init).get()
    if !now.differsInContents(from: stamp) { return true }
    return try margins(at: cursor, in: file, now) != nil
  }

  /// Reads the lines after a cursor, or all lines, up to the size of the stamp.
  ///
  /// - Parameters:
  ///   - file: The file.
  ///   - start: The cursor of the previous read, or `nil` for the start of the file.
  ///   - margins: The margins of the bytes before the cursor.
  ///   - stamp: The stamp of the file.
  func read(
    _ file: OpenedFile, from start: LineCursor?, margins: FileMargins, stamp: FileStamp
  ) throws(ReadFailure) -> JSONLines<Element> {
    var margins = margins
    var lineCount = start?.lineCount ?? 0
    var skipped = start?.skipped ?? SkippedLines()
    var elements: [Element] = []
    var openLine: [UInt8] = []
    var size = Self.partSize

    func cursor() -> LineCursor {
      LineCursor(
        stamp: stamp, position: margins.position, lineCount: lineCount, skipped: skipped,
        fingerprint: margins.fingerprint)
    }

    while margins.position < stamp.size {
      let count = Int(min(Int64(size), stamp.size - Int64(margins.position)))
      let bytes = try file.bytes(from: margins.position, count: count).mapError(ReadFailure.init)
        .get()
      if margins.position == 0, isUTF16(bytes) {
        throw failure(.encoding, "the text is UTF-16 or UTF-32; save it as UTF-8", line: 1)
      }
      if bytes.first == 0 {
        // At the end of the file, zeros may be space that its writer has reserved.
        guard let end = try endOfZeros(in: file, from: margins.position, to: stamp.size) else {
          break
        }
        skipped.zeros += end - margins.position
        margins = try FileMargins(of: file, upTo: end)
        continue
      }
      guard let newline = bytes.lastIndex(of: 0x0A) else {
        if margins.position + count == stamp.size || bytes.count < count {
          openLine = Array(bytes[JSONLineBatch.trimmed(bytes, bytes.indices)])
          break
        }
        guard size < Self.maximumLineLength else {
          throw failure(
            .truncated, "the line has more than \(size) bytes; write each value on its own line",
            line: lineCount + 1)
        }
        size *= 4
        continue
      }
      size = Self.partSize
      do throws(JSONLineBatch.LineError) {
        let batch = JSONLineBatch(
          bytes, 0..<(newline + 1), linesBefore: lineCount, isStrict: isStrict)
        let decoded = try decode(batch, of: bytes, isStrict: isStrict)
        elements += decoded.elements
        skipped.append(decoded.skipped)
        margins.append(bytes[...newline])
        lineCount += batch.lineCount
      } catch {
        margins.append(bytes[..<error.end])
        lineCount = error.line
        return JSONLines(elements: [], cursor: cursor(), error: error.error)
      }
    }
    return JSONLines(elements: elements, cursor: cursor(), openLine: openLine)
  }

  /// Returns a cursor before the last lines of a file, or `nil` if the file is read from its start.
  func cursor(
    before count: Int, in file: OpenedFile, _ stamp: FileStamp
  ) throws(ReadFailure) -> LineCursor? {
    var (position, lines) = (Int(stamp.size), -1)
    while position > 0, lines < count {
      let start = max(0, position - Self.partSize)
      let bytes = try file.bytes(from: start, count: position - start)
        .mapError(ReadFailure.init).get()
      var end = bytes.count
      while lines < count, let newline = bytes[..<end].lastIndex(of: 0x0A) {
        lines += 1
        end = newline
      }
      // It may be a hole, which only a read from the start skips.
      if end == bytes.count { return nil }
      position = lines < count ? start : start + end + 1
    }
    guard position > 0 else { return nil }
    // The messages have the numbers of the lines.
    var (lineCount, offset) = (0, 0)
    while offset < position {
      let bytes = try file.bytes(from: offset, count: min(Self.partSize, position - offset))
        .mapError(ReadFailure.init).get()
      if bytes.isEmpty { return nil }
      lineCount += bytes.count { $0 == 0x0A }
      offset = file.endOfHole(offset + bytes.count)
    }
    return LineCursor(
      stamp: stamp, position: position, lineCount: lineCount, skipped: SkippedLines(),
      fingerprint: try FileMargins(of: file, upTo: position).fingerprint)
  }

  /// Returns a Boolean value that indicates whether a text is UTF-16 or UTF-32, and not lines after zeros.
  private func isUTF16(_ bytes: [UInt8]) -> Bool {
    guard JSONDocument.isUTF16(bytes) else { return false }
    return bytes.first != 0 || bytes.drop { $0 == 0 }.prefix(8).contains(0)
  }

  /// Returns the offset of the first byte that is not zero, or `nil` if all bytes are.
  private func endOfZeros(
    in file: OpenedFile, from start: Int, to size: Int64
  ) throws(ReadFailure) -> Int? {
    var position = file.endOfHole(start)
    while position < size {
      let count = Int(min(Int64(Self.partSize), size - Int64(position)))
      let bytes = try file.bytes(from: position, count: count).mapError(ReadFailure.init).get()
      if let end = bytes.firstIndex(where: { $0 != 0 }) { return position + end }
      if bytes.count < count { return nil }
      position = file.endOfHole(position + count)
    }
    return nil
  }

  private func failure(
    _ code: JSONElement.ParsingError.Code, _ reason: String, line: Int
  ) -> ReadFailure {
    let position = JSONElement.ParsingError.Position(line: line, column: 1)
    return ReadFailure(
      JSONElement.ParsingError(code: code, reason: reason, position: position), path: path)
  }

  /// Returns the element of a line that has no newline yet.
  func element(of line: [UInt8], after cursor: LineCursor) throws(JSONElement.ParsingError)
    -> Element
  {
    do throws(JSONLineBatch.LineError) {
      let batch = JSONLineBatch(
        line, line.indices, linesBefore: cursor.lineCount, isStrict: true)
      guard let element = try decode(batch, of: line, isStrict: true).elements.first else {
        preconditionFailure("a line that is not blank has no element")
      }
      return element
    } catch {
      throw error.error
    }
  }

  /// Decodes the values of a batch.
  ///
  /// - Throws: The error of the first malformed line, if the batch is strict.
  private func decode(
    _ batch: JSONLineBatch, of bytes: [UInt8], isStrict: Bool
  ) throws(JSONLineBatch.LineError) -> (elements: [Element], skipped: SkippedLines) {
    let decoded = decoding.run(
      JSONValues(text: bytes, spans: batch.spans, key: key, depth: 0, skipsErrors: !isStrict))
    let undecodable = decoded.error.map(batch.lineError)
    // The values of a strict batch precede its malformed line.
    if isStrict, let error = undecodable ?? batch.error { throw error }
    let latest = [undecodable, batch.error].compactMap(\.self).max { $0.line < $1.line }
    let count = decoded.failures.count + batch.malformedCount
    return (
      decoded.elements, SkippedLines(count: count, latest: latest?.error, zeros: batch.zeroCount)
    )
  }
}

/// The position up to which a file of lines was read.
struct LineCursor: Sendable {
  /// The stamp of the file just before the read.
  var stamp: FileStamp
  /// The offset of the next line.
  var position: Int
  /// The number of lines before the position.
  var lineCount: Int
  /// The malformed lines before the position.
  var skipped: SkippedLines
  /// A hash of the margins of the bytes before the position.
  var fingerprint: Int
  /// The line after the position if it was read before its newline was written.
  var openLine: [UInt8]?

  /// Returns a Boolean value that indicates whether the bytes before the position are probably the same.
  ///
  /// If the size is the same, the times must be the same, too. If the file has grown and the margins are
  /// the same, the file was appended to.
  func holds(for stamp: FileStamp, margins: FileMargins) -> Bool {
    stamp.identity == self.stamp.identity
      && (stamp.size > self.stamp.size
        || stamp.size == self.stamp.size && stamp.modified == self.stamp.modified
          // A program can set the time of the last write, but not this one.
          && stamp.changed == self.stamp.changed)
      && margins.fingerprint == fingerprint
  }
}

/// The first and the last bytes before a position in a file.
struct FileMargins: Sendable {
  /// The number of bytes on each side. All bytes of a file of twice this size are compared.
  static let span = 8_192

  private var head: [UInt8] = []
  private var tail: [UInt8] = []
  private(set) var position = 0

  /// Creates empty margins at the start of a file.
  init() {}

  /// Reads the margins of the bytes before a position.
  init(of file: OpenedFile, upTo position: Int) throws(ReadFailure) {
    func bytes(_ range: Range<Int>) throws(ReadFailure) -> [UInt8] {
      if range.isEmpty { return [] }
      return try file.bytes(from: range.lowerBound, count: range.count).mapError(ReadFailure.init)
        .get()
    }
    self.position = position
    let headEnd = min(position, Self.span)
    head = try bytes(0..<headEnd)
    tail = try bytes(max(headEnd, position - Self.span)..<position)
  }

  /// Moves the position to the end of the bytes that follow it.
  mutating func append(_ bytes: ArraySlice<UInt8>) {
    position += bytes.count
    let first = bytes.prefix(Self.span - head.count)
    head += first
    let rest = bytes.dropFirst(first.count).suffix(Self.span)
    tail.removeFirst(max(0, tail.count + rest.count - Self.span))
    tail += rest
  }

  /// A hash of the margins and the position.
  var fingerprint: Int {
    var hasher = Hasher()
    hasher.combine(position)
    ByteComparison.hash(head, head.indices, into: &hasher)
    ByteComparison.hash(tail, tail.indices, into: &hasher)
    return hasher.finalize()
  }
}
