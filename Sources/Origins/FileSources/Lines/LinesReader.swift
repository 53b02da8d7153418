import Diffing
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

/// The lines that were read from a file.
struct ReadLines<Element: Sendable>: Sendable {
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
struct LinesReader<Element: Differentiable & Sendable>: Sendable {
  /// The path of the file.
  let path: ByteString
  let form: LineForm
  /// The name of the member that identifies an element, if there is one.
  let key: String?
  let decoding: ElementDecoding<Element>
  /// A Boolean value that indicates whether a malformed line ends the read. Otherwise, it is skipped.
  let isStrict: Bool

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
  ///   - known: The lines of the previous version, if all lines are read. Unchanged ones are not decoded again.
  func read(
    _ file: OpenedFile, from start: LineCursor?, margins: FileMargins, stamp: FileStamp,
    reusing known: KnownLines<Element>? = nil
  ) throws(ReadFailure) -> ReadLines<Element> {
    var (margins, known) = (margins, known)
    var cursor = LineCursor(stamp: stamp, continuing: start)
    var elements: [Element] = []
    var openLine: [UInt8] = []
    var size = form.partSize

    /// Moves the cursor to the margins.
    func finish() -> LineCursor {
      (cursor.position, cursor.fingerprint) = (margins.position, margins.fingerprint)
      return cursor
    }

    while margins.position < stamp.size {
      if let (part, same) = try known?.part(
        at: margins.position, linesBefore: cursor.lineCount, columns: cursor.columns, in: file)
      {
        elements += same
        cursor.append(part)
        margins = try FileMargins(of: file, upTo: part.range.upperBound)
        continue
      }
      let limit = known?.limit ?? Int(stamp.size)
      let count = min(size, limit - margins.position)
      let bytes = try file.bytes(from: margins.position, count: count).mapError(ReadFailure.init)
        .get()
      if margins.position == 0, isUTF16(bytes) {
        throw failure(
          JSONElement.ParsingError(
            code: .encoding, reason: "the text is UTF-16 or UTF-32; save it as UTF-8",
            position: JSONElement.ParsingError.Position(line: 1, column: 1)))
      }
      if bytes.first == 0 {
        // At the end of the file, zeros may be space that its writer has reserved.
        guard let end = try endOfZeros(in: file, from: margins.position, to: stamp.size) else {
          break
        }
        cursor.skipped.zeros += end - margins.position
        margins = try FileMargins(of: file, upTo: end)
        continue
      }
      let batch = form.batch(
        of: bytes, columns: cursor.columns, key: key, linesBefore: cursor.lineCount,
        isStrict: isStrict)
      guard batch.end > 0 else {
        if margins.position + count == stamp.size || bytes.count < count {
          openLine = Array(bytes[form.trimmed(bytes)])
          break
        }
        if margins.position + count == limit {
          known?.skipPart()
          continue
        }
        guard size < form.maximumLineLength else {
          throw failure(lengthError(batch, size, linesBefore: cursor.lineCount))
        }
        size *= 4
        continue
      }
      size = form.partSize
      do throws(LineBatch.LineError) {
        let decoded = try decode(batch, isStrict: isStrict)
        elements += decoded.elements
        let text = bytes[..<batch.end]
        let part = LinePart(
          text, at: margins.position, lineCount: batch.lineCount,
          elementCount: decoded.elements.count, skipped: decoded.skipped,
          after: cursor.columns, columns: batch.columns)
        cursor.append(part, merging: text, upTo: form.partSize)
        known?.check(batch.columns)
        margins.append(text)
      } catch {
        margins.append(bytes[..<error.end])
        cursor.lineCount = error.line
        return ReadLines(elements: [], cursor: finish(), error: error.error)
      }
    }
    return ReadLines(elements: elements, cursor: finish(), openLine: openLine)
  }

  /// Returns the error of a line that is too long.
  ///
  /// - Parameters:
  ///   - batch: The text, which has no end of the line.
  ///   - maximum: The maximum number of bytes of a line.
  ///   - lineCount: The number of lines before the line.
  func lengthError(
    _ batch: LineBatch, _ maximum: Int, linesBefore lineCount: Int
  ) -> JSONElement.ParsingError {
    let reason =
      switch (form, batch.openQuote) {
      case (.json, _): "the line has more than \(maximum) bytes; write each value on its own line"
      case (.csv, nil):
        "the row has more than \(maximum) bytes; end each row with a line break"
      case (.csv, _):
        "the quote that begins here is not closed within \(maximum) bytes; add the closing quote"
      }
    return JSONElement.ParsingError(
      code: .truncated, reason: reason,
      position: batch.openQuote
        ?? JSONElement.ParsingError.Position(line: lineCount + 1, column: 1))
  }

  /// Returns a cursor before the last lines of a file, or `nil` if the file is read from its start.
  func cursor(
    before count: Int, in file: OpenedFile, _ stamp: FileStamp
  ) throws(ReadFailure) -> LineCursor? {
    // Only from the start, it is known which line breaks are in quotes.
    guard case .json = form else { return nil }
    var (position, lines) = (Int(stamp.size), -1)
    while position > 0, lines < count {
      let start = max(0, position - form.partSize)
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
      let bytes = try file.bytes(from: offset, count: min(form.partSize, position - offset))
        .mapError(ReadFailure.init).get()
      if bytes.isEmpty { return nil }
      lineCount += bytes.count { $0 == 0x0A }
      offset = file.endOfHole(offset + bytes.count)
    }
    var cursor = LineCursor(stamp: stamp, continuing: nil)
    (cursor.position, cursor.lineCount) = (position, lineCount)
    cursor.fingerprint = try FileMargins(of: file, upTo: position).fingerprint
    return cursor
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
      let count = Int(min(Int64(form.partSize), size - Int64(position)))
      let bytes = try file.bytes(from: position, count: count).mapError(ReadFailure.init).get()
      if let end = bytes.firstIndex(where: { $0 != 0 }) { return position + end }
      if bytes.count < count { return nil }
      position = file.endOfHole(position + count)
    }
    return nil
  }

  /// Returns the failure for a file whose text is not valid.
  func failure(_ error: JSONElement.ParsingError) -> ReadFailure {
    ReadFailure(error, path: path, format: form.code)
  }

  /// Returns the element of a line that has no newline yet, or `nil` if the line is a header.
  func element(of line: [UInt8], after cursor: LineCursor) throws(JSONElement.ParsingError)
    -> Element?
  {
    do throws(LineBatch.LineError) {
      let batch = form.batch(
        of: line, columns: cursor.columns, key: key, linesBefore: cursor.lineCount, isWhole: true,
        isStrict: true)
      return try decode(batch, isStrict: true).elements.first
    } catch {
      throw error.error
    }
  }

  /// Decodes the values of a batch.
  ///
  /// - Throws: The error of the first malformed line, if the batch is strict, or the error of the header.
  func decode(
    _ batch: LineBatch, isStrict: Bool
  ) throws(LineBatch.LineError) -> (elements: [Element], skipped: SkippedLines) {
    let decoded = decoding.run(
      JSONValues(text: batch.text, spans: batch.spans, key: key, depth: 0, skipsErrors: !isStrict))
    let undecodable = decoded.error.map(batch.lineError)
    // The values of a strict batch precede its malformed line.
    if isStrict || batch.isHeaderMalformed, let error = undecodable ?? batch.error { throw error }
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
  var position = 0
  /// The number of lines before the position.
  var lineCount = 0
  /// The malformed lines before the position.
  var skipped = SkippedLines()
  /// A hash of the margins of the bytes before the position.
  var fingerprint = 0
  /// The names of the columns, if the lines are rows after a header.
  private(set) var columns: [[UInt8]]?
  /// The lines before the position that were read.
  private(set) var parts: [LinePart] = []
  /// The line after the position if it was read before its newline was written.
  var openLine: [UInt8]?

  /// Creates a cursor at the end of another one, or at the start of a file.
  init(stamp: FileStamp, continuing start: LineCursor?) {
    self.stamp = stamp
    guard let start else { return }
    (position, fingerprint) = (start.position, start.fingerprint)
    (lineCount, skipped, columns, parts) = (
      start.lineCount, start.skipped, start.columns, start.parts
    )
  }

  /// Adds the lines that follow.
  ///
  /// - Parameters:
  ///   - part: The lines.
  ///   - bytes: Their bytes, if they may be merged with the lines before them.
  ///   - size: The maximum number of bytes of merged lines.
  mutating func append(
    _ part: LinePart, merging bytes: ArraySlice<UInt8>? = nil, upTo size: Int = 0
  ) {
    lineCount += part.lineCount
    skipped.append(part.skipped)
    columns = part.columns
    if let bytes, let last = parts.last, last.range.upperBound == part.range.lowerBound,
      last.range.count + part.range.count <= size
    {
      parts[parts.count - 1].append(part, bytes)
    } else {
      parts.append(part)
    }
  }

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
