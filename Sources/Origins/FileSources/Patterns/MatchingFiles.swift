package import Diffing
import FileWatching
package import ObservableCollections
import ReactiveSignals
package import SwappablePrimitives

/// A file whose path matches a pattern, with the list of its elements.
package struct MatchingFile<Child: Differentiable & Sendable>: Differentiable, Sendable {
  package let path: ByteString
  package let elements: any DataSource<Child>

  package var differenceIdentifier: ByteString { path }
  package func isContentEqual(to other: MatchingFile) -> Bool { elements === other.elements }
}

/// The files whose paths match a pattern, in the order of their names. Directories are read whenever they change.
///
/// A file enters the list when it has been read, so the list never shows that it loads.
package struct MatchingFiles<Child: Differentiable & Sendable>: PolledSource {
  package typealias Element = MatchingFile<Child>

  package struct Change: Sendable {
    /// A Boolean value that indicates whether a file may have come or gone.
    var areNamesNew = false
    /// A Boolean value that indicates whether a directory is another one than before.
    var isElsewhere = false
    /// A Boolean value that indicates whether a file may have been created, and not moved to its path.
    var isCreation = false
    /// The new files that were read.
    var read: Set<ByteString> = []
  }

  package struct Memory: Sendable {
    let report: @Sendable (Change) -> Void
    var watches: [ByteString: FileWatch] = [:]
    /// The files in the list.
    var files: [ByteString: MatchingFile<Child>] = [:]
    /// The files that are not in the list yet.
    var new: [ByteString: NewFile] = [:]
    /// The new files that have not been read yet.
    var unread: Set<ByteString> = []
    /// The paths that have gone, each with the time until which it stays in the list.
    var gone: [ByteString: ContinuousClock.Instant] = [:]
    let known = Known()
  }

  /// The knowledge of the last read: the turns of the group, and whether paths that have gone are still in the list, as they go
  /// with a turn.
  final class Known: Sendable {
    let value = Locked((turns: 0, isWaiting: false))
  }

  struct NewFile: Sendable {
    let file: MatchingFile<Child>
    /// Reports that the file was read.
    let observation: Disposable
    let found: ContinuousClock.Instant
    /// The time for which it may still be renamed onto another file.
    var wait: Duration

    var earliest: ContinuousClock.Instant { found + wait }
  }

  /// The time for which a path that has gone stays in the list. An editor may rename the old file
  /// before it creates the new one. The time is shorter than that after which a file counts as missing.
  private static var grace: Duration { .milliseconds(150) }

  /// The time for which a created file waits, because programs write a file of another name before they rename it.
  private static var patience: Duration { .milliseconds(250) }

  /// The time for which a file waits that was moved to its path. It may have been created just after another one was moved.
  private static var doubt: Duration { .milliseconds(30) }

  /// The pause before a directory that cannot be read is read again. Its permissions may change without an event.
  private static var retry: Duration { .seconds(1) }

  private let pattern: PathPattern
  private let shownPattern: String
  private let group = ReadGroup()
  private let open: @Sendable (ByteString, ReadGroup) -> any DataSource<Child>

  /// Returns the elements of all files, in the order of the paths.
  ///
  /// - Parameters:
  ///   - pattern: The pattern.
  ///   - shownPattern: The pattern for people.
  ///   - open: A closure that returns the elements of the file at a path, which is read in a group.
  package static func elements(
    of pattern: PathPattern, shownAs shownPattern: String,
    _ open: @escaping @Sendable (ByteString, ReadGroup) -> any DataSource<Child>
  ) -> LiveCollection<Child> {
    dataSource(of: pattern, shownAs: shownPattern, open).flatMap { $0.elements }
  }

  package static func dataSource(
    of pattern: PathPattern, shownAs shownPattern: String,
    _ open: @escaping @Sendable (ByteString, ReadGroup) -> any DataSource<Child>
  ) -> PolledDataSource<MatchingFiles> {
    let files = MatchingFiles(pattern: pattern, shownPattern: shownPattern, open: open)
    return PolledDataSource(
      files, writer: SourceWriter(of: PolledDataSource<MatchingFiles>.self, location: shownPattern),
      loop: ReadLoop(clock: .continuous, group: files.group))
  }

  package func start(_ report: @escaping @Sendable (Change) -> Void) -> Memory {
    let memory = Memory(report: report)
    group.add { [weak known = memory.known, weak group] in
      let (turns, state) = (group?.turns, known?.value.withLock { $0 })
      if let state, state.isWaiting || state.turns != turns { report(Change(areNamesNew: true)) }
      return known != nil
    }
    return memory
  }

  package func merge(_ change: Change, into unread: inout Change) {
    unread.areNamesNew = unread.areNamesNew || change.areNamesNew
    unread.isElsewhere = unread.isElsewhere || change.isElsewhere
    unread.isCreation = unread.isCreation || change.isCreation
    unread.read.formUnion(change.read)
  }

  package func readTime(of unread: Change, _ memory: Memory) -> ReadTime {
    // One slow file must not hold up the others.
    unread.areNamesNew || memory.unread.isSubset(of: unread.read)
      ? .now : .after(Self.patience)
  }

  package func read(_ attempt: ReadAttempt, _ memory: inout Memory) async -> ReadResult {
    if attempt.change?.isElsewhere == true { group.noteTurn() }
    let turns = group.turns
    var matches = pattern.matches()
    // A directory may have changed before it was watched.
    while memory.watch(matches.directories, in: group) { matches = pattern.matches() }
    let now = ContinuousClock.now
    let isElsewhere = group.hasTurned
    let known = Set(memory.files.keys)
    // Nothing is known of the paths in a directory that cannot be read, so they stay.
    let missing = Set(memory.files.keys).subtracting(matches.paths)
    let hidden = missing.filter { path in matches.unreadable.contains { path.hasPrefix($0) } }
    for path in matches.paths { memory.gone[path] = nil }
    for path in missing.subtracting(hidden) {
      if path.linkTarget != nil || isElsewhere && path.parentDirectory.isDirectory {
        // It will not come back, and its elements do not fit the new files.
        memory.gone[path] = now
      } else if memory.gone[path] == nil {
        memory.gone[path] = now + Self.grace
      }
    }
    for (path, end) in memory.gone where end <= now { memory.files[path] = nil }
    memory.gone = memory.gone.filter { $0.value > now && !hidden.contains($0.key) }
    memory.known.value.withLock { $0 = (turns, !memory.gone.isEmpty) }
    let isCreation = attempt.change?.isCreation ?? false
    memory.follow(
      matches.paths,
      for: attempt.isFirst || isElsewhere ? .zero : isCreation ? Self.patience : Self.doubt
    ) { open($0, group) }
    memory.unread = Set(memory.new.filter { !$0.value.file.elements.isRead }.keys)
    if attempt.isFirst, !memory.unread.isEmpty { return .nothing(for: nil) }
    for (path, new) in memory.new where new.file.elements.isRead && new.earliest <= now {
      memory.files[path] = new.file
      memory.new[path] = nil
    }
    var pauses = memory.gone.values.map { now.duration(to: $0) }
    pauses += memory.new.values.map(\.earliest).filter { $0 > now }.map { now.duration(to: $0) }
    if matches.error != nil { pauses.append(Self.retry) }
    var result = ReadResult.contents(
      .whole(memory.files.values.sorted { $0.path < $1.path }), again: pauses.min())
    result.hasCommonCause = isElsewhere || attempt.isFirst || known != Set(memory.files.keys)
    if let error = matches.error {
      result.state = .failed(SourceError(code: "directory", message: error))
    } else if memory.files.isEmpty {
      let message = "No file matches \(shownPattern)."
      result.diagnostics = [SourceStatus.Diagnostic(code: "no-match", message: message)]
    }
    return result
  }
}

extension MatchingFiles.Memory {
  /// Watches these directories, and no others.
  ///
  /// - Returns: A Boolean value that indicates whether another directory is watched now.
  fileprivate mutating func watch(_ directories: Set<ByteString>, in group: ReadGroup) -> Bool {
    for path in watches.keys where !directories.contains(path) { watches[path] = nil }
    let new = directories.subtracting(watches.keys)
    for path in new {
      let watch = FileWatch(path: path) { [report] event in
        report(
          MatchingFiles.Change(
            areNamesNew: true, isElsewhere: event.isElsewhere, isCreation: event.kind != .replaced))
      }
      watches[path] = watch
      group.add { [weak watch] in watch?.check() != nil }
    }
    return !new.isEmpty
  }

  /// Begins to read the files that are not known.
  ///
  /// - Parameter wait: The time for which they may still be renamed.
  fileprivate mutating func follow(
    _ paths: [ByteString], for wait: Duration, _ open: (ByteString) -> any DataSource<Child>
  ) {
    let now = ContinuousClock.now
    let unknown = Set(paths).subtracting(files.keys)
    new = new.filter { unknown.contains($0.key) }.mapValues { known in
      var file = known
      file.wait = wait == .zero ? wait : max(file.wait, wait)
      return file
    }
    for path in unknown.subtracting(new.keys) {
      let elements = open(path)
      let observation = elements.observeStatus { [report, weak elements] _ in
        if elements?.isRead == true { report(MatchingFiles.Change(read: [path])) }
      }
      elements.start()
      new[path] = MatchingFiles.NewFile(
        file: MatchingFile(path: path, elements: elements), observation: observation,
        // A link is no temporary file.
        found: now, wait: path.linkTarget == nil ? wait : .zero)
    }
  }
}

extension DataSource {
  /// A Boolean value that indicates whether the source has loaded or failed. A file that is missing leaves the list.
  fileprivate var isRead: Bool {
    if case .missing = status.state { return false }
    return collection.current.state.hasLoaded || status.error != nil
  }
}
