import Diffing
import Dispatch
import FileWatching
import ObservableCollections
import SwappablePrimitives

/// The times of a source that reads a file.
struct FileTiming: Sendable, Hashable {
  /// The pause of a writer after which a file that stays open is read.
  var quiet = Duration.milliseconds(20)
  /// The time for which a file may be missing, empty or malformed before the status shows it.
  var grace = Duration.milliseconds(250)
  /// The time for which a writer may go on with a new or rewritten file before its complete parts are shown.
  var writing = Duration.milliseconds(100)
  /// The pause before a read that the system refused is repeated.
  var retry = Duration.seconds(1)
}

/// The changes of a file that are not read yet.
struct FileChange: Sendable, Equatable {
  /// The last event.
  private(set) var last: FileEvent
  /// A Boolean value that indicates whether a writer was active at the last event.
  private(set) var isBeingWritten: Bool
  /// A Boolean value that indicates whether another file may have taken the path. It may have the identity of the old one,
  /// and begin and end like it.
  private(set) var isReplaced: Bool
  /// A Boolean value that indicates whether the path leads through other directories than before.
  private(set) var isElsewhere: Bool

  init(_ event: FileEvent) {
    (last, isElsewhere) = (event, event.isElsewhere)
    (isBeingWritten, isReplaced) =
      switch event.kind {
      // A file in a directory that was exchanged is complete.
      case .created: (!event.isElsewhere, true)
      case .modified: (true, false)
      case .replaced, .removed: (false, true)
      case .written, .touched, .check: (false, false)
      }
  }

  mutating func merge(_ new: FileChange) {
    let tellsOfWriter = new.last.kind != .touched && new.last.kind != .check
    last = new.last
    isBeingWritten = tellsOfWriter ? new.isBeingWritten : isBeingWritten
    isReplaced = isReplaced || new.isReplaced
    isElsewhere = isElsewhere || new.isElsewhere
  }
}

/// The part of a source that depends on the format of its file: what it keeps of the file, and how it reads it.
protocol FileFormat<Element>: Sendable {
  associatedtype Element: Differentiable & Sendable

  /// Diagnostics of the format, which become part of the status.
  var diagnostics: [SourceStatus.Diagnostic] { get }

  /// A Boolean value that indicates whether complete parts of the file count, also if a writer goes on without a pause.
  static var hasParts: Bool { get }

  /// The pause before the next read, if the last one leads to another without a change.
  var pause: Duration? { get }

  /// Returns a Boolean value that indicates whether the file is read at once, although its writer may continue.
  func isReadAtOnce(_ change: FileChange) -> Bool

  /// Reads the file.
  ///
  /// - Parameters:
  ///   - change: The changes since the last read that had contents.
  ///   - collection: The list that the source shows, or `nil` if it is behind what was read last.
  ///   - waited: The time for which the contents have been incomplete.
  /// - Returns: The contents, and whether they are complete, or `nil` if nothing counts before the grace period is over, or
  ///   the time of a writer.
  mutating func read(
    _ change: FileChange?, after collection: LiveCollection<Element>?, waited: Duration
  ) throws(ReadFailure) -> (SourceWriter<Element>.Contents, isComplete: Bool)?
}

extension FileFormat {
  var diagnostics: [SourceStatus.Diagnostic] { [] }
  static var hasParts: Bool { false }
  var pause: Duration? { nil }
  func isReadAtOnce(_: FileChange) -> Bool { false }
}

/// A file that is watched, and read when it changes.
struct PolledFile<Format: FileFormat>: PolledSource {
  typealias Element = Format.Element

  struct Memory: Sendable {
    let watch: FileWatch
    var format: Format
    /// The number of turns of the path that were read.
    var turns = 0
  }

  let path: ByteString
  let system: WatchSystem
  let timing: FileTiming
  /// The format before the first read.
  let format: Format
  /// The group of the files that may change by the same cause.
  var group: ReadGroup?

  /// Returns a data source that reads the file.
  func dataSource(
    of source: (some DataSource<Format.Element>).Type
  ) -> PolledDataSource<PolledFile> {
    let clock = AnyClock { [system] in system.callLater($0, timers, $1) }
    return PolledDataSource(
      self, writer: SourceWriter(of: source, location: path.description),
      loop: ReadLoop(clock: clock, group: group))
  }

  func start(_ report: @escaping @Sendable (FileChange) -> Void) -> Memory {
    let watch = FileWatch(path: path, system: system) { report(FileChange($0)) }
    group?.add { [weak watch] in watch?.check() != nil }
    return Memory(watch: watch, format: format)
  }

  func merge(_ change: FileChange, into unread: inout FileChange) { unread.merge(change) }

  func readTime(of unread: FileChange, _ memory: Memory) -> ReadTime {
    if unread.isElsewhere { return .now }
    switch unread.last.kind {
    case .written, .replaced, .removed, .touched, .check: return .now
    case .modified, .created:
      if memory.format.isReadAtOnce(unread) { return .now }
      return Format.hasParts ? .after(timing.quiet) : .whenQuiet(for: timing.quiet)
    }
  }

  func read(
    _ attempt: ReadAttempt, _ memory: inout Memory
  ) async -> ReadResult {
    var result: ReadResult
    let polling = memory.watch.diagnostic
    var isBeingWritten = attempt.change?.isBeingWritten ?? false
    do throws(ReadFailure) {
      let read = try memory.format.read(
        attempt.change, after: attempt.isListBehind ? nil : attempt.collection,
        waited: attempt.waited)
      if let (contents, isComplete) = read {
        result = ReadResult(
          .contents(contents, completeAfter: isComplete ? nil : timing.grace),
          again: memory.format.pause)
      } else {
        result = .nothing(for: isBeingWritten ? timing.writing : timing.grace)
        // It may go on without end.
        isBeingWritten = false
      }
    } catch {
      let isShownNow = attempt.isFirst && !error.isTransient
      result = .failure(
        error.state, shownAfter: isShownNow ? .zero : timing.grace,
        again: error.needsRetry ? timing.retry : memory.format.pause)
    }
    if group != nil {
      // A link may have been switched just before the read.
      memory.watch.check()
      result.hasCommonCause = memory.watch.turns != memory.turns
      memory.turns = memory.watch.turns
      if result.hasCommonCause { group?.noteTurn() }
    }
    result.isBeingWritten = isBeingWritten
    result.mode =
      polling.map { ("polling", $0) } ?? ("notified", "The system reports each change of the file.")
    result.diagnostics =
      [
        polling.map { SourceStatus.Diagnostic(code: "polling", message: $0) },
        outsideRemark(memory),
      ]
      .compactMap(\.self)
      + memory.format.diagnostics
    return result
  }
}

extension PolledFile {
  /// A remark on a file that has a path, but no name. It is mounted by itself, and its name outside leads to another file.
  private func outsideRemark(_ memory: Memory) -> SourceStatus.Diagnostic? {
    // A file that was replaced while the path was followed has no name either, but then the path leads elsewhere now.
    guard let stamp = memory.watch.state.stamp, stamp.isUnlinked,
      FileStamp(at: path)?.identity == stamp.identity,
      // The descriptor of a file leads to it, also if it has no name.
      !["/proc/", "/dev/fd/"].contains(where: { path.hasPrefix($0) })
    else { return nil }
    return SourceStatus.Diagnostic(
      code: "replaced-outside",
      message:
        "\(path) was replaced outside of its mount, so changes are not seen; mount its folder instead."
    )
  }
}

/// The queue on which timers of files fire. They only begin reads.
private let timers = DispatchQueue(label: "swappable.files")
