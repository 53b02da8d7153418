import FileWatching

/// What stands in a file of JSON Lines behind some place.
struct JSONLines<Element: Sendable>: Sendable {
  /// The values of the complete lines, and of a line that is taken without its end.
  var elements: [Element]
  /// Behind the complete lines.
  var cursor: LineCursor
  /// The last line if it has no newline, without the white space around it.
  var openLine: [UInt8]
  /// Whether they stand for one that was taken before its line was complete.
  var replacesLast = false
}

/// Why lines cannot be read.
enum LineReadingFault: Error {
  case file(FileFailure)
  case line(JSONError)

  func trouble(path: String) -> ReloadMachine.Trouble {
    switch self {
    case .file(let failure): failure.trouble(path: path)
    case .line(let error): error.trouble(path: path)
    }
  }
}

/// Reads lines, part by part: of the bytes no more is kept than one part.
struct JSONLinesReader<Element: Sendable>: Sendable {
  enum Outcome {
    case lines(JSONLines<Element>)
    /// A line cannot be read; the place is behind it.
    case fault(LineCursor, JSONError)
  }

  /// The name of the member by which elements are known, if there is one.
  let key: String?
  let decoding: ElementDecoding<Element>

  /// So many bytes are read at once, unless a line is longer.
  private static var partSize: Int { 4 << 20 }
  /// No line may be longer.
  private static var maximumLineLength: Int { 256 << 20 }

  /// The margins of what was read before; nil if that may have changed.
  func margins(
    at cursor: LineCursor, in file: OpenedFile, _ stamp: FileStamp
  ) throws(LineReadingFault) -> FileMargins? {
    guard stamp.identity == cursor.stamp.identity, stamp.size >= cursor.position else { return nil }
    let margins = try FileMargins(of: file, upTo: cursor.position)
    return cursor.holds(for: stamp, margins: margins) ? margins : nil
  }

  /// Whether the file was at most appended to while it was read.
  func isSettled(
    _ file: OpenedFile, since stamp: FileStamp, _ cursor: LineCursor
  ) throws(LineReadingFault) -> Bool {
    let now = try file.stamp().mapError(LineReadingFault.file).get()
    if !now.differsInContents(from: stamp) { return true }
    return try margins(at: cursor, in: file, now) != nil
  }

  /// Reads from a place, or from the start, as far as the file goes by its stamp.
  ///
  /// - Parameters:
  ///   - start: how far the file was read; nil for the start.
  ///   - margins: of what is before it.
  func read(
    _ file: OpenedFile, from start: LineCursor?, margins: FileMargins, stamp: FileStamp
  ) throws(LineReadingFault) -> Outcome {
    var margins = margins
    var lineCount = start?.lineCount ?? 0
    var elements: [Element] = []
    var openLine: [UInt8] = []
    var size = Self.partSize

    func cursor() -> LineCursor {
      LineCursor(
        stamp: stamp, position: margins.position, lineCount: lineCount,
        fingerprint: margins.fingerprint)
    }

    while margins.position < stamp.size {
      let count = Int(min(Int64(size), stamp.size - Int64(margins.position)))
      let bytes = try file.read(margins.position, count).mapError(LineReadingFault.file).get()
      if margins.position == 0, JSONElement.isUTF16(bytes) {
        throw .line(
          JSONError(
            code: .encoding, reason: "the text is UTF-16 or UTF-32; save it as UTF-8",
            position: JSONError.Position(line: 1, column: 1)))
      }
      let bodyStart = margins.position == 0 ? JSONElement.bodyStart(of: bytes) : 0
      guard let newline = bytes.lastIndex(of: 0x0A) else {
        if margins.position + count == stamp.size || bytes.count < count {
          openLine = Array(bytes[JSONLineBatch.trimmed(bytes, bodyStart..<bytes.count)])
          break
        }
        guard size < Self.maximumLineLength else {
          throw .line(
            JSONError(
              code: .truncated,
              reason:
                "the line has more than \(size) bytes; each value stands on a line of its own",
              position: JSONError.Position(line: lineCount + 1, column: 1)))
        }
        size *= 4
        continue
      }
      size = Self.partSize
      do throws(JSONLineBatch.Fault) {
        let batch = JSONLineBatch(bytes, bodyStart..<(newline + 1), linesBefore: lineCount)
        elements += try decode(batch, of: bytes)
        margins.append(bytes[...newline])
        lineCount += batch.lineCount
      } catch {
        margins.append(bytes[..<error.end])
        lineCount = error.line
        return .fault(cursor(), error.error)
      }
    }
    return .lines(JSONLines(elements: elements, cursor: cursor(), openLine: openLine))
  }

  /// The element of a line that has no end yet.
  func element(of line: [UInt8], after cursor: LineCursor) throws(JSONError) -> Element {
    do throws(JSONLineBatch.Fault) {
      let batch = JSONLineBatch(line, line.indices, linesBefore: cursor.lineCount)
      guard let element = try decode(batch, of: line).first else {
        preconditionFailure("a line that is not blank has no element")
      }
      return element
    } catch {
      throw error.error
    }
  }

  /// - Throws: what is wrong with the first line that cannot be read.
  private func decode(
    _ batch: JSONLineBatch, of bytes: [UInt8]
  ) throws(JSONLineBatch.Fault) -> [Element] {
    let elements: [Element]
    do throws(UndecodableElement) {
      let values = JSONValues(text: bytes, spans: batch.spans, key: key, depth: 0)
      elements = try decoding.decode(values)
    } catch {
      let place = batch.places.indices.contains(error.offset) ? error.offset : 0
      let (line, end) = batch.places[place]
      throw JSONLineBatch.Fault(
        error: JSONError(
          code: error.code, reason: error.reason,
          position: JSONError.Position(line: line, column: 1)),
        line: line, end: end)
    }
    if let fault = batch.fault { throw fault }
    return elements
  }
}
