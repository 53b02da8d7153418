import Diffing
import FileWatching
import Foundation
import ObservableCollections
import SwappablePrimitives

extension ByteString: Differentiable {}

/// The paths that match a pattern, in the order of their names. Directories are read whenever they change.
struct PathPatternSource: PolledSource {
  typealias Element = ByteString

  struct Memory: Sendable {
    let report: @Sendable () -> Void
    var watches: [ByteString: FileWatch] = [:]
    /// The paths that have gone, each with the time until which it stays in the list.
    var gone: [ByteString: ContinuousClock.Instant] = [:]
  }

  /// The time for which a path that has gone stays in the list. An editor may rename the old file
  /// before it creates the new one. The time is shorter than that after which a file counts as missing.
  private static let grace = Duration.milliseconds(150)

  /// The pause before a directory that cannot be read is read again. Its permissions may change without an event.
  private static let retry = Duration.seconds(1)

  let pattern: PathPattern

  func start(_ report: @escaping @Sendable (Change) -> Void) -> Memory {
    Memory(report: { report(()) })
  }

  func read(
    _ attempt: ReadAttempt, _ memory: inout Memory
  ) async -> ReadResult {
    var matches = pattern.matches()
    // A directory may have changed before it was watched.
    while memory.watch(matches.directories) { matches = pattern.matches() }
    let now = ContinuousClock.now
    for path in matches.paths { memory.gone[path] = nil }
    // Nothing is known of the paths in a directory that cannot be read, so they stay.
    let missing = Set(attempt.collection.snapshot).subtracting(matches.paths)
    let hidden = missing.filter { path in matches.unreadable.contains { path.hasPrefix($0) } }
    for path in missing.subtracting(hidden) where memory.gone[path] == nil {
      memory.gone[path] = now + Self.grace
    }
    memory.gone = memory.gone.filter { $0.value > now && !hidden.contains($0.key) }
    let paths = (matches.paths + memory.gone.keys + hidden).sorted()
    let pause = memory.gone.values.min().map { now.duration(to: $0) }
    var result = ReadResult.contents(
      .whole(paths), again: matches.error == nil ? pause : min(pause ?? Self.retry, Self.retry))
    if let error = matches.error {
      result.state = .failed(SourceError(code: "directory", message: error))
    } else if paths.isEmpty {
      let message = "No file matches \(pattern.shown)."
      result.diagnostics = [SourceStatus.Diagnostic(code: "no-match", message: message)]
    }
    return result
  }
}

extension PathPatternSource.Memory {
  /// Watches these directories, and no others.
  ///
  /// - Returns: A Boolean value that indicates whether another directory is watched now.
  fileprivate mutating func watch(_ directories: Set<ByteString>) -> Bool {
    for path in watches.keys where !directories.contains(path) { watches[path] = nil }
    let new = directories.subtracting(watches.keys)
    for path in new { watches[path] = FileWatch(path: path) { [report] _ in report() } }
    return !new.isEmpty
  }
}

/// A pattern of paths, such as `conf.d/*.json`, with the wildcards `*`, `?` and `[…]` of a shell.
///
/// A wildcard does not match a slash, or a dot at the start of a name.
struct PathPattern: Sendable, Equatable {
  /// The paths that match a pattern, and the directories that determine them.
  struct Matches: Equatable {
    /// The paths in the order of their bytes.
    var paths: [ByteString] = []
    /// The directories in which files may come or go.
    var directories: Set<ByteString> = []
    /// The directories that cannot be read.
    var unreadable: [ByteString] = []
    /// The reason why the last of them cannot be read.
    var error: String?
  }

  let text: ByteString

  /// The text for people, without passwords: a query of a server may be taken for a pattern.
  var shown: String { SourceSpecification.redacted(text.description) }

  /// Returns `nil` if the text has no wildcard.
  init?(_ text: ByteString) {
    guard PathPattern.hasWildcard(text) else { return nil }
    self.text = text
  }

  private static func hasWildcard(_ text: ByteString) -> Bool {
    text.bytes.contains { "*?[".utf8.contains($0) }
  }

  /// Finds the paths that match now.
  func matches() -> Matches {
    var result = Matches()
    // Each path consists of the names before the current one, with a slash at its end.
    var paths: [ByteString] = [text.isAbsolutePath ? "/" : ""]
    let names = text.pathNames
    for (number, name) in names.enumerated() {
      let ending: ByteString = number == names.count - 1 ? "" : "/"
      let isPattern = PathPattern.hasWildcard(name)
      paths = paths.flatMap { path in
        // A path before the first wildcard need not exist yet.
        if isPattern || !result.directories.isEmpty && path.isDirectory {
          result.directories.insert(path.isEmpty ? "." : path)
        }
        guard isPattern else { return [path + name + ending] }
        return result.names(in: path, matching: name).map { path + $0 + ending }
      }
    }
    result.paths = paths.filter(PathPattern.isFile).sorted()
    return result
  }

  private static func isFile(_ path: ByteString) -> Bool {
    path.fileStatus().map { $0.st_mode & S_IFMT == S_IFREG } ?? false
  }
}

extension PathPattern.Matches {
  /// Returns the names in a directory that match a pattern.
  fileprivate mutating func names(
    in directory: ByteString, matching pattern: ByteString
  ) -> [ByteString] {
    guard let names = (directory.isEmpty ? "." : directory).namesInDirectory() else {
      if errno != ENOENT, errno != ENOTDIR {
        error = "cannot read \(directory): \(SystemError(errno).message)"
        unreadable.append(directory)
      }
      return []
    }
    return names.filter { $0.matches(pattern) }
  }
}

extension ByteString {
  /// Returns a Boolean value that indicates whether a name matches a pattern of the shell.
  ///
  /// A wildcard matches a character of the locale, or a byte that belongs to none.
  fileprivate func matches(_ pattern: ByteString) -> Bool {
    // The function of the system refuses a name that is not UTF-8 if the locale is.
    let (name, pattern) =
      mblen("\u{E9}", 2) == 2
      ? (ByteString(encoded), ByteString(pattern.encoded)) : (self, pattern)
    return pattern.withCString { pattern in
      name.withCString { fnmatch(pattern, $0, FNM_PERIOD) }
    } == 0
  }
}
