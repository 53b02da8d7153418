import Diffing
import FileWatching
import ObservableCollections
import SwappablePrimitives

/// A file whose lines or rows are elements.
struct LinesFormat<Element: Differentiable & Sendable>: FileFormat {
  let files: FileAccess
  let timing: FileTiming
  let reader: LinesReader<Element>
  /// The files of the log, if the lines of old ones stay.
  var rotatedFiles: RotatedFiles<Element>?
  /// The end of the loaded contents, or `nil` if they may be the contents of another file.
  var cursor: LineCursor?
  /// The end of the loaded contents, also if another file may have taken the path. Its lines may be in that file, too.
  var lastCursor: LineCursor?
  /// The malformed line of a strict source. It stays malformed until the file is replaced or rewritten.
  var malformedLine: (end: LineCursor, error: JSONElement.ParsingError)?
  /// The malformed lines of the loaded contents.
  var skippedLines = SkippedLines()
  var openLineDiagnostic: SourceStatus.Diagnostic?
  /// The state of the file at the last event.
  var lastState: FileState?

  init(
    files: FileAccess, timing: FileTiming, reader: LinesReader<Element>,
    rotation: JSONLinesDataSource<Element>.Rotation
  ) {
    (self.files, self.timing, self.reader) = (files, timing, reader)
    if case .keep(let last) = rotation { rotatedFiles = RotatedFiles(last: last) }
  }

  var diagnostics: [SourceStatus.Diagnostic] {
    let path = reader.path.description
    return [
      skippedLines.diagnostic(path: path), skippedLines.zeroDiagnostic(path: path),
      openLineDiagnostic,
    ].compactMap(\.self)
  }

  static var hasParts: Bool { true }

  var pause: Duration? { rotatedFiles?.pause }

  func isReadAtOnce(_ change: FileChange) -> Bool {
    if change.isReplaced || rotatedFiles != nil { return true }
    guard change.last.kind == .modified, let cursor,
      let stamp = change.last.state.stamp
    else { return false }
    return stamp.identity == cursor.stamp.identity && stamp.size > cursor.stamp.size
  }

  mutating func read(
    _ change: FileChange?, after collection: LiveCollection<Element>?, waited: Duration
  ) throws(ReadFailure) -> (SourceWriter<Element>.Contents, isComplete: Bool)? {
    if let contents = try rotatedFiles?.read(in: files, by: reader) {
      skippedLines = rotatedFiles?.skippedLines ?? skippedLines
      return (contents, isComplete: true)
    }
    lastState = change?.last.state ?? lastState
    if change?.isReplaced == true { (cursor, malformedLine) = (nil, nil) }
    for _ in 0..<FileDifference.maximumAttempts {
      let result = try readOnce(
        after: collection, isBeingWritten: change?.isBeingWritten ?? false, waited: waited)
      switch result {
      case .lines(let contents, let isComplete): return (contents, isComplete)
      case .incomplete: return nil
      case .unstable: break
      }
    }
    throw ReadFailure(.unstable(path: reader.path))
  }

  private enum Result {
    case lines(SourceWriter<Element>.Contents, isComplete: Bool)
    /// A writer continues.
    case incomplete
    /// The file changed during the read.
    case unstable
  }

  private mutating func readOnce(
    after collection: LiveCollection<Element>?, isBeingWritten: Bool, waited: Duration
  ) throws(ReadFailure) -> Result {
    let isGraceOver = waited >= timing.grace
    let isWriterIgnored = isBeingWritten && waited >= timing.writing
    let file = try files.open(reader.path).mapError(ReadFailure.init).get()
    let stamp = try file.stamp().mapError(ReadFailure.init).get()
    if let malformedLine, try reader.margins(at: malformedLine.end, in: file, stamp) != nil {
      throw reader.failure(malformedLine.error)
    }
    var start: LineCursor?
    var margins = FileMargins()
    if let cursor, let same = try reader.margins(at: cursor, in: file, stamp) {
      (start, margins) = (cursor, same)
    }
    // While a writer rewrites the file, wait until the writer closes it, but not for long.
    if start == nil, isBeingWritten || hasChangedSinceLastEvent(stamp), !isGraceOver,
      !isWriterIgnored
    {
      return .incomplete
    }
    var known: KnownLines<Element>?
    if start == nil, let collection, let lastCursor {
      known = KnownLines(before: lastCursor, collection.snapshot, size: stamp.size)
    }
    var lines = try reader.read(
      file, from: start, margins: margins, stamp: stamp, reusing: known)
    if let error = lines.error {
      malformedLine = (lines.cursor, error)
      throw reader.failure(error)
    }
    guard try reader.isSettled(file, since: stamp, lines.cursor) else { return .unstable }
    malformedLine = nil
    let isComplete = takeOpenLine(of: &lines, after: start, isGraceOver: isGraceOver)
    if start == nil, !isComplete, !isWriterIgnored { return .incomplete }
    (cursor, lastCursor, skippedLines) = (lines.cursor, lines.cursor, lines.cursor.skipped)
    if start == nil { return .lines(.whole(lines.elements), isComplete: isComplete) }
    return .lines(
      .appended(lines.elements, replacingLast: lines.replacesLast), isComplete: isComplete)
  }

  /// Returns a Boolean value that indicates whether the file has changed since the last event, so another
  /// event will follow.
  private func hasChangedSinceLastEvent(_ stamp: FileStamp) -> Bool {
    guard let last = lastState else { return false }
    guard let lastStamp = last.stamp else { return true }
    return stamp.differsInContents(from: lastStamp)
  }

  /// Adds a last line without a newline to the elements if it counts, and updates its diagnostic.
  ///
  /// - Returns: `false` if the line must wait for its newline or for the end of the grace period.
  private mutating func takeOpenLine(
    of lines: inout ReadLines<Element>, after start: LineCursor?, isGraceOver: Bool
  ) -> Bool {
    if let start, start.openLine != nil {
      // A loaded line that is now complete may be malformed, and a writer may have replaced the line
      // with blanks. Then it has no element.
      let isComplete = lines.cursor.position > start.position
      lines.replacesLast = isComplete || lines.openLine.isEmpty
      if !lines.replacesLast { lines.cursor.openLine = start.openLine }
    }
    guard !lines.openLine.isEmpty else {
      openLineDiagnostic = nil
      return true
    }
    if lines.openLine == lines.cursor.openLine { return true }
    guard isGraceOver else { return false }
    do throws(JSONElement.ParsingError) {
      if let element = try reader.element(of: lines.openLine, after: lines.cursor) {
        lines.replacesLast = lines.replacesLast || lines.cursor.openLine != nil
        lines.elements.append(element)
        lines.cursor.openLine = lines.openLine
      }
      openLineDiagnostic = nil
    } catch {
      // A row that goes on is no longer the one that was shown.
      if case .csv = reader.form, lines.cursor.openLine != nil {
        (lines.replacesLast, lines.cursor.openLine) = (true, nil)
      }
      openLineDiagnostic = SourceStatus.Diagnostic(
        code: "incomplete-line",
        message:
          "The last line of \(reader.path) has no newline and is incomplete, "
          + "so it is not shown: \(error).")
    }
    return true
  }
}
