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

  init(_ event: FileEvent) {
    last = event
    (isBeingWritten, isReplaced) =
      switch event.kind {
      case .created: (true, true)
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
  }
}

/// The part of a source that depends on the format of its file: what it keeps of the file, and how it reads it.
protocol FileFormat<Element>: Sendable {
  associatedtype Element: Differentiable & Sendable

  /// Diagnostics of the format, which become part of the status.
  var diagnostics: [SourceStatus.Diagnostic] { get }

  /// Returns a Boolean value that indicates whether the file has only grown, so it is read at once. Complete parts count,
  /// even if more follow.
  func hasGrown(_ change: FileChange) -> Bool

  /// Reads the file.
  ///
  /// - Parameters:
  ///   - change: The changes since the last read that had contents.
  ///   - collection: The list that the source shows.
  ///   - isGraceOver: A Boolean value that indicates whether the contents have been incomplete for the grace period.
  /// - Returns: The contents, and whether they are complete, or `nil` if a writer continues, so nothing counts before the
  ///   grace period is over.
  mutating func read(
    _ change: FileChange?, after collection: LiveCollection<Element>, isGraceOver: Bool
  ) throws(ReadFailure) -> (SourceWriter<Element>.Contents, isComplete: Bool)?
}

extension FileFormat {
  var diagnostics: [SourceStatus.Diagnostic] { [] }
  func hasGrown(_: FileChange) -> Bool { false }
}

/// A file that is watched, and read when it changes.
struct PolledFile<Format: FileFormat>: PolledSource {
  typealias Element = Format.Element

  struct Memory: Sendable {
    let watch: FileWatch
    var format: Format
  }

  let path: ByteString
  let system: WatchSystem
  let timing: FileTiming
  /// The format before the first read.
  let format: Format

  /// Returns a data source that reads the file.
  func dataSource(
    of source: (some DataSource<Format.Element>).Type
  ) -> PolledDataSource<PolledFile> {
    let clock = AnyClock { [system] in system.callLater($0, timers, $1) }
    return PolledDataSource(
      self, writer: SourceWriter(of: source, location: path.description),
      loop: ReadLoop(clock: clock))
  }

  func start(_ report: @escaping @Sendable (FileChange) -> Void) -> Memory {
    let watch = FileWatch(path: path, system: system) { report(FileChange($0)) }
    return Memory(watch: watch, format: format)
  }

  func merge(_ change: FileChange, into unread: inout FileChange) { unread.merge(change) }

  func readTime(of unread: FileChange, _ memory: Memory) -> ReadTime {
    switch unread.last.kind {
    case .written, .replaced, .removed, .touched, .check: .now
    case .modified, .created:
      memory.format.hasGrown(unread) ? .now : .whenQuiet(for: timing.quiet)
    }
  }

  func read(
    _ attempt: ReadAttempt, _ memory: inout Memory
  ) async -> ReadResult {
    var result: ReadResult
    let polling = memory.watch.diagnostic
    do throws(ReadFailure) {
      let read = try memory.format.read(
        attempt.change, after: attempt.collection, isGraceOver: attempt.waited >= timing.grace)
      if let (contents, isComplete) = read {
        result = ReadResult(.contents(contents, completeAfter: isComplete ? nil : timing.grace))
      } else {
        result = .nothing(for: timing.grace)
      }
    } catch {
      let isShownNow = attempt.isFirst && !error.isTransient
      result = .failure(
        error.state, shownAfter: isShownNow ? .zero : timing.grace,
        again: error.needsRetry ? timing.retry : nil)
    }
    result.isBeingWritten = attempt.change?.isBeingWritten ?? false
    result.mode =
      polling.map { ("polling", $0) } ?? ("notified", "The system reports each change of the file.")
    result.diagnostics =
      [polling.map { SourceStatus.Diagnostic(code: "polling", message: $0) }].compactMap(\.self)
      + memory.format.diagnostics
    return result
  }
}

/// The queue on which timers of files fire. They only begin reads.
private let timers = DispatchQueue(label: "swappable.files")
