public import Diffing
import FileWatching
public import Foundation
public import ObservableCollections
import SwappablePrimitives

/// A live collection of the values in a file of JSON Lines.
///
/// Each line is an element. A line that is appended to the file is appended to the collection.
///
/// ```swift
/// let log = JSONLinesDataSource<Entry>(path: "service.jsonl")
/// let observation = log.observe { print($0) }
/// ```
///
/// The source is idle until it is first observed. Then it reads and watches the file on its own queue:
///
/// | The file … | Result |
/// |---|---|
/// | grows by complete lines | insertions at the end, immediately |
/// | ends in a line without a newline | the line is inserted when its newline is written, or after a pause of 250 ms |
/// | is truncated or rewritten in place | one change with the differences, when its writer closes it or pauses for 250 ms |
/// | is replaced by a rename, or is renamed and created again | one change with the differences: the lines of the new file replace the old ones |
/// | is touched, or written with the same contents | no event |
/// | has a malformed line for over 250 ms, or is unreadable | status `failed`, with the number of the line; the last valid contents stay |
/// | is missing for over 250 ms, or from the start | status `missing`; the last valid contents stay |
/// | is valid again | status `loaded`, and one change if the contents differ |
///
/// Lines end in a line feed, or in a carriage return and a line feed. Blank lines, and a byte order
/// mark at the start, are ignored. A value is on one line of at most 256 MiB, in UTF-8. Its arrays
/// and objects are nested at most 512 levels deep. Diagnostics of the status report an incomplete last
/// line, duplicate identities, and a file system that must be polled.
///
/// If a file has grown, the source compares its first 8 KiB and the 8 KiB before the last known newline.
/// If these bytes are the same, the file is read from that newline on. After any other change, it is
/// read from the start. The source misses a change in the middle of a file of over 16 KiB if all of the following are
/// true:
///
/// - The change leaves these bytes as they are.
/// - The change comes together with an appended line, or within the same tick of the file system's
///   clock as the previous read.
///
/// The source keeps its elements in memory, but not the text of the file.
public final class JSONLinesDataSource<Element: Differentiable & Sendable>: DataSource {
  private let contents: CollectionProperty<Element>
  private let reloader: FileReloader<Element>

  /// Creates a source of elements that a closure decodes.
  ///
  /// - Parameters:
  ///   - path: The path of the file: absolute, or relative to the current working directory. The file
  ///     may be missing.
  ///   - decode: A closure that returns the element for a JSON value. The source calls it on its
  ///     queue. If the closure throws, the status becomes `failed`.
  public convenience init(
    path: String, decode: @escaping @Sendable (JSONElement) throws -> Element
  ) {
    self.init(path: path, key: nil, decoding: ElementDecoding(each: decode))
  }

  init(
    path: String, key: String?, decoding: ElementDecoding<Element>, system: WatchSystem = .live,
    timing: ReloadMachine.Timing = ReloadMachine.Timing()
  ) {
    contents = CollectionProperty(status: .idle)
    reloader = FileReloader(
      path: absolutePath(path), queueLabel: "swappable.json-lines", system: system, timing: timing,
      contents: contents, loader: JSONLinesLoader(key: key, decoding: decoding))
  }

  deinit { reloader.stop() }

  public var collection: LiveCollection<Element> { contents.collection }

  public func start() { reloader.start() }

  /// The absolute path of the file.
  public var path: String { reloader.path }
}

extension JSONLinesDataSource where Element: Decodable {
  /// Creates a source of elements that `JSONDecoder` decodes.
  ///
  /// - Parameters:
  ///   - path: The path of the file: absolute, or relative to the current working directory. The file
  ///     may be missing.
  ///   - configure: A closure that configures a decoder. Several decoders work at the same time,
  ///     and the closure is called for each.
  public convenience init(
    path: String, configure: @escaping @Sendable (JSONDecoder) -> Void = { _ in }
  ) {
    self.init(path: path, key: nil, decoding: ElementDecoding(configuring: configure))
  }
}

extension JSONLinesDataSource where Element == JSONElement {
  /// Creates a source of the JSON elements themselves.
  ///
  /// - Parameters:
  ///   - path: The path of the file: absolute, or relative to the current working directory. The file
  ///     may be missing.
  ///   - key: The name of the member that identifies an element. Without a key, the whole value
  ///     identifies it.
  public convenience init(path: String, key: String? = nil) {
    self.init(path: path, key: key, decoding: ElementDecoding(each: { $0 }))
  }
}

/// Loads a file of JSON Lines.
private final class JSONLinesLoader<Element: Differentiable & Sendable>: FileLoader {
  private let reader: JSONLinesReader<Element>
  /// The end of the loaded contents, or `nil` if they may be the contents of another file.
  private var cursor: LineCursor?
  /// A malformed line, which stays malformed until the file is replaced or rewritten.
  private var malformedLine: (end: LineCursor, error: JSONError)?
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
      (cursor, malformedLine) = (nil, nil)
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
    do throws(LineReadingError) {
      for _ in 0..<FileDifference.maximumAttempts {
        if let actions = try readOnce(reloader) { return actions }
      }
      throw .file(.unstable(path: path))
    } catch {
      return reloader.machine.readFailed(error.readFailure(path: path))
    }
  }

  /// Reads the file once.
  ///
  /// - Returns: The actions that follow, or `nil` if the file changed during the read.
  private func readOnce(
    _ reloader: FileReloader<Element>
  ) throws(LineReadingError) -> [ReloadMachine.Action]? {
    let file = try reloader.system.files.open(reloader.path).mapError(LineReadingError.file).get()
    let stamp = try file.stamp().mapError(LineReadingError.file).get()
    if let malformedLine, try reader.margins(at: malformedLine.end, in: file, stamp) != nil {
      throw .line(malformedLine.error)
    }
    var start: LineCursor?
    var margins = FileMargins()
    if let cursor, let same = try reader.margins(at: cursor, in: file, stamp) {
      (start, margins) = (cursor, same)
    }
    // While a writer rewrites the file, wait until the writer closes it or pauses.
    if start == nil, isBeingWritten(stamp, reloader.machine), !reloader.machine.isGraceOver {
      return reloader.machine.waitForGrace()
    }
    var lines: JSONLines<Element>
    switch try reader.read(file, from: start, margins: margins, stamp: stamp) {
    case .lines(let read): lines = read
    case .malformedLine(let end, let error):
      malformedLine = (end, error)
      throw .line(error)
    }
    guard try reader.isSettled(file, since: stamp, lines.cursor) else { return nil }
    malformedLine = nil
    let mustWait = takeOpenLine(of: &lines, after: start, reloader)
    if mustWait, start == nil { return reloader.machine.waitForGrace() }
    cursor = lines.cursor
    reloader.machine.readSucceeded()
    // The source may have been released during the read.
    if reloader.hasStopped { return [] }
    publish(lines, isContinued: start != nil, reloader)
    return mustWait ? reloader.machine.waitForGrace() : []
  }

  /// Returns a Boolean value that indicates whether a writer is active, or the file has changed since the
  /// last event, so another event will follow.
  private func isBeingWritten(_ stamp: FileStamp, _ machine: ReloadMachine) -> Bool {
    if machine.isBeingWritten { return true }
    guard let last = lastState else { return false }
    guard let lastStamp = last.stamp else { return true }
    return stamp.differsInContents(from: lastStamp)
  }

  /// Adds a last line without a newline to the elements if it counts, and updates its diagnostic.
  ///
  /// - Returns: A Boolean value that indicates whether the line must wait for its newline or for the end
  ///   of the grace period.
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
          "The last line of \(reloader.path) has no newline and is incomplete, "
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
