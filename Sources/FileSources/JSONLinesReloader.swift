import Diffing
import FileWatching
import ObservableCollections

/// The working part of a source on a file of JSON Lines.
final class JSONLinesReloader<Element: Differentiable & Sendable>: FileReloader<Element>,
  @unchecked Sendable
{
  // Sendable: what changes is touched on the queue only.

  private let reader: JSONLinesReader<Element>
  /// How far the contents go; nil where they are not known to be of this file.
  private var cursor: LineCursor?
  /// Up to the end of a line that cannot be read: it stays so until the file is another one.
  private var fault: (cursor: LineCursor, error: JSONError)?
  private var openLineDiagnostic: SourceDiagnostic?
  /// What was last told of the file.
  private var toldState: FileState?

  init(
    path: String, key: String?, decoding: ElementDecoding<Element>, system: WatchSystem,
    timing: ReloadMachine.Timing, contents: CollectionProperty<Element>
  ) {
    reader = JSONLinesReader(key: key, decoding: decoding)
    super.init(
      path: path, queueLabel: "swappable.json-lines", system: system, timing: timing,
      contents: contents)
  }

  override var diagnostics: [SourceDiagnostic] {
    super.diagnostics + (openLineDiagnostic.map { [$0] } ?? [])
  }

  /// A file that only grows need not rest before its complete lines count.
  override func fileChanged(_ event: FileEvent) -> [ReloadMachine.Action] {
    toldState = event.state
    switch event.kind {
    case .replaced, .created, .removed:
      // Another file may have the number of the one before, and begin and end like it.
      (cursor, fault) = (nil, nil)
    case .written, .modified, .touched, .check: break
    }
    if event.kind == .modified, let cursor, let stamp = event.state.stamp,
      stamp.identity == cursor.stamp.identity, stamp.size > cursor.stamp.size
    {
      return machine.fileGrew()
    }
    return super.fileChanged(event)
  }

  override func read() {
    do throws(LineReadingFault) {
      for _ in 0..<4 where try readOnce() { return }
      let failure = FileFailure(
        cause: .unstable, operation: "read", path: path,
        reason: "it changed each time while it was being read")
      throw .file(failure)
    } catch {
      perform(machine.readFailed(error.trouble(path: path)))
    }
  }

  /// - Returns: whether that was all; otherwise the file changed meanwhile.
  private func readOnce() throws(LineReadingFault) -> Bool {
    let file = try system.files.open(path).mapError(LineReadingFault.file).get()
    let stamp = try file.stamp().mapError(LineReadingFault.file).get()
    if let fault, try reader.margins(at: fault.cursor, in: file, stamp) != nil {
      throw .line(fault.error)
    }
    var start: LineCursor?
    var margins = FileMargins()
    if let cursor, let same = try reader.margins(at: cursor, in: file, stamp) {
      (start, margins) = (cursor, same)
    }
    // Who writes a file anew makes it one change by closing it, or by a rest.
    if start == nil, isBeingWritten(stamp), !machine.isGraceOver {
      perform(machine.waitForRest())
      return true
    }
    var lines: JSONLines<Element>
    switch try reader.read(file, from: start, margins: margins, stamp: stamp) {
    case .lines(let read): lines = read
    case .fault(let cursor, let error):
      fault = (cursor, error)
      throw .line(error)
    }
    guard try reader.isSettled(file, since: stamp, lines.cursor) else { return false }
    fault = nil
    let mustWait = takeOpenLine(of: &lines, after: start)
    if mustWait, start == nil {
      perform(machine.waitForRest())
      return true
    }
    cursor = lines.cursor
    machine.readSucceeded()
    // What reading took may be the time in which the source was let go.
    if hasStopped { return true }
    publish(lines, isContinued: start != nil)
    if mustWait { perform(machine.waitForRest()) }
    return true
  }

  /// Whether a writer is at work, or the file has changed since something was told of it, so that more
  /// will be.
  private func isBeingWritten(_ stamp: FileStamp) -> Bool {
    if machine.isBeingWritten { return true }
    guard let told = toldState else { return false }
    guard let toldStamp = told.stamp else { return true }
    return stamp.differsInContents(from: toldStamp)
  }

  /// Decides on a last line without a newline, and notes it.
  ///
  /// - Returns: whether it has to wait: for its newline, or until the file has rested.
  private func takeOpenLine(of lines: inout JSONLines<Element>, after start: LineCursor?) -> Bool {
    // Blanks may have been written over a line that was taken.
    let isBlank = lines.elements.isEmpty && lines.openLine.isEmpty
    lines.replacesLast = start?.openLine != nil && (isBlank || !lines.elements.isEmpty)
    if !lines.replacesLast { lines.cursor.openLine = start?.openLine }
    guard !lines.openLine.isEmpty else {
      openLineDiagnostic = nil
      return false
    }
    if lines.openLine == lines.cursor.openLine { return false }
    guard machine.isGraceOver else { return true }
    do throws(JSONError) {
      let element = try reader.element(of: lines.openLine, after: lines.cursor)
      lines.replacesLast = lines.replacesLast || lines.cursor.openLine != nil
      lines.elements.append(element)
      lines.cursor.openLine = lines.openLine
      openLineDiagnostic = nil
    } catch {
      openLineDiagnostic = SourceDiagnostic(
        code: "incomplete-line",
        message:
          "The last line of \(path) has no newline and is not complete, so it is not shown yet: "
          + "\(error).")
    }
    return false
  }

  private func publish(_ lines: JSONLines<Element>, isContinued: Bool) {
    guard isContinued else {
      identities = IdentityCounts()
      identities.update(removed: [], added: lines.elements)
      duplicate = identities.diagnostic(for: lines.elements)
      contents.publish(lines.elements, status: status(.loaded))
      return
    }
    contents.edit { draft in
      let last = lines.replacesLast ? draft[draft.count - 1] : nil
      identities.update(removed: last.map { [$0] } ?? [], added: lines.elements)
      var added = lines.elements[...]
      if let last, let first = added.first,
        last.differenceIdentifier == first.differenceIdentifier
      {
        draft[draft.count - 1] = first
        added = added.dropFirst()
      } else if last != nil {
        draft.removeSubrange(draft.count - 1..<draft.count)
      }
      draft.append(contentsOf: added)
      // The first two of one identity stay the first as long as elements are only added.
      if !identities.hasDuplicates {
        duplicate = nil
      } else if duplicate == nil || last != nil {
        duplicate = identities.diagnostic(for: draft.snapshot)
      }
      draft.newStatus = status(.loaded)
    }
  }
}
