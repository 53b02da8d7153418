import Diffing
import FileWatching
import ObservableCollections

/// Loads a file of JSON Lines.
final class JSONLinesLoader<Element: Differentiable & Sendable>: FileLoader {
  private let reader: JSONLinesReader<Element>
  /// The end of the loaded contents, or `nil` if they may be the contents of another file.
  private var cursor: LineCursor?
  /// A malformed line. It stays malformed until the file is replaced or rewritten.
  private var fault: (cursor: LineCursor, error: JSONError)?
  private var openLineDiagnostic: SourceDiagnostic?
  /// The state of the file at the last event.
  private var lastState: FileState?

  init(key: String?, decoding: ElementDecoding<Element>) {
    reader = JSONLinesReader(key: key, decoding: decoding)
  }

  var diagnostics: [SourceDiagnostic] { openLineDiagnostic.map { [$0] } ?? [] }

  /// Handles an event of the file watch. If the file has only grown, it is read immediately, to
  /// load its complete lines.
  func fileChanged(_ event: FileEvent, _ machine: inout ReloadMachine) -> [ReloadMachine.Action] {
    lastState = event.state
    switch event.kind {
    case .replaced, .created, .removed:
      // A new file may have the identity of the old one, and begin and end like it.
      (cursor, fault) = (nil, nil)
    case .written, .modified, .touched, .check: break
    }
    if event.kind == .modified, let cursor, let stamp = event.state.stamp,
      stamp.identity == cursor.stamp.identity, stamp.size > cursor.stamp.size
    {
      return machine.fileGrew()
    }
    return machine.fileChanged(event.kind)
  }

  func read(for reloader: FileReloader<Element>) -> [ReloadMachine.Action] {
    let path = reloader.path
    do throws(LineReadingFault) {
      for _ in 0..<4 {
        if let actions = try readOnce(reloader) { return actions }
      }
      let failure = FileFailure(
        cause: .unstable, operation: "read", path: path,
        reason: "it changed each time while it was being read")
      throw .file(failure)
    } catch {
      return reloader.machine.readFailed(error.trouble(path: path))
    }
  }

  /// - Returns: The actions that follow, or `nil` if the file changed during the read.
  private func readOnce(
    _ reloader: FileReloader<Element>
  ) throws(LineReadingFault) -> [ReloadMachine.Action]? {
    let file = try reloader.system.files.open(reloader.path).mapError(LineReadingFault.file).get()
    let stamp = try file.stamp().mapError(LineReadingFault.file).get()
    if let fault, try reader.margins(at: fault.cursor, in: file, stamp) != nil {
      throw .line(fault.error)
    }
    var start: LineCursor?
    var margins = FileMargins()
    if let cursor, let same = try reader.margins(at: cursor, in: file, stamp) {
      (start, margins) = (cursor, same)
    }
    // While a writer rewrites the file, wait until the writer closes it or rests.
    if start == nil, isBeingWritten(stamp, reloader.machine), !reloader.machine.isGraceOver {
      return reloader.machine.waitForRest()
    }
    var lines: JSONLines<Element>
    switch try reader.read(file, from: start, margins: margins, stamp: stamp) {
    case .lines(let read): lines = read
    case .fault(let cursor, let error):
      fault = (cursor, error)
      throw .line(error)
    }
    guard try reader.isSettled(file, since: stamp, lines.cursor) else { return nil }
    fault = nil
    let mustWait = takeOpenLine(of: &lines, after: start, reloader)
    if mustWait, start == nil { return reloader.machine.waitForRest() }
    cursor = lines.cursor
    reloader.machine.readSucceeded()
    // The source may have been released during the read.
    if reloader.hasStopped { return [] }
    publish(lines, isContinued: start != nil, reloader)
    return mustWait ? reloader.machine.waitForRest() : []
  }

  /// Returns a Boolean value that indicates whether a writer is active, or the file has changed since the
  /// last event, so another event will follow.
  private func isBeingWritten(_ stamp: FileStamp, _ machine: ReloadMachine) -> Bool {
    if machine.isBeingWritten { return true }
    guard let last = lastState else { return false }
    guard let lastStamp = last.stamp else { return true }
    return stamp.differsInContents(from: lastStamp)
  }

  /// Decides whether a last line without a newline counts, and updates its diagnostic.
  ///
  /// - Returns: A Boolean value that indicates whether the line must wait for its newline, or until the
  ///   file has rested.
  private func takeOpenLine(
    of lines: inout JSONLines<Element>, after start: LineCursor?, _ reloader: FileReloader<Element>
  ) -> Bool {
    // A writer may have replaced a loaded line with blanks.
    let isBlank = lines.elements.isEmpty && lines.openLine.isEmpty
    lines.replacesLast = start?.openLine != nil && (isBlank || !lines.elements.isEmpty)
    if !lines.replacesLast { lines.cursor.openLine = start?.openLine }
    guard !lines.openLine.isEmpty else {
      openLineDiagnostic = nil
      return false
    }
    if lines.openLine == lines.cursor.openLine { return false }
    guard reloader.machine.isGraceOver else { return true }
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
          "The last line of \(reloader.path) has no newline and is not complete, "
          + "so it is not shown yet: \(error).")
    }
    return false
  }

  private func publish(
    _ lines: JSONLines<Element>, isContinued: Bool, _ reloader: FileReloader<Element>
  ) {
    guard isContinued else {
      reloader.identities = IdentityCounts()
      reloader.identities.update(removed: [], added: lines.elements)
      reloader.duplicate = reloader.identities.diagnostic(for: lines.elements)
      reloader.contents.publish(lines.elements, status: reloader.status(.loaded))
      return
    }
    reloader.contents.edit { draft in
      let last = lines.replacesLast ? draft[draft.count - 1] : nil
      reloader.identities.update(removed: last.map { [$0] } ?? [], added: lines.elements)
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
      // While elements are only added, the first duplicate stays the same.
      if !reloader.identities.hasDuplicates {
        reloader.duplicate = nil
      } else if reloader.duplicate == nil || last != nil {
        reloader.duplicate = reloader.identities.diagnostic(for: draft.snapshot)
      }
      draft.newStatus = reloader.status(.loaded)
    }
  }
}
