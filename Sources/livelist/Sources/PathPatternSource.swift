import Dispatch
import FileWatching
import Foundation
import ObservableCollections
import SwappablePrimitives

/// A live list of the paths that match a pattern, in the order of their names.
final class PathPatternSource: DataSource {
  let collection: LiveCollection<String>
  private let contents = CollectionProperty<String>(status: .idle)
  private let core: PathPatternCore

  init(_ pattern: PathPattern) {
    collection = contents.collection
    collection.describe(as: PathPatternSource.self, location: pattern.text)
    core = PathPatternCore(pattern, contents)
  }

  func start() { core.start() }
}

/// The reading of directories whenever they change.
private final class PathPatternCore: @unchecked Sendable {
  // Sendable: the variables are accessed on the serial queue only.

  /// The time for which a path that has gone stays in the list. An editor may rename the old file
  /// before it creates the new one. The time is shorter than that after which a file counts as missing.
  private static let grace = DispatchTimeInterval.milliseconds(150)

  private let pattern: PathPattern
  private let contents: CollectionProperty<String>
  private let queue = DispatchQueue(label: "livelist.path-pattern")
  private var watches: [String: FileWatch] = [:]
  /// The paths that have gone, each with the time until which it stays in the list.
  private var gone: [String: DispatchTime] = [:]
  private var isStarted = false

  init(_ pattern: PathPattern, _ contents: CollectionProperty<String>) {
    self.pattern = pattern
    self.contents = contents
  }

  func start() {
    queue.async { [self] in
      if isStarted { return }
      isStarted = true
      read()
    }
  }

  /// Publishes the paths that match now, and those that have gone only just now.
  private func read() {
    var matches = pattern.matches()
    // A directory may have changed before it was watched.
    while watch(matches.directories) { matches = pattern.matches() }
    let now = DispatchTime.now()
    for path in matches.paths { gone[path] = nil }
    for path in Set(contents.snapshot).subtracting(matches.paths) where gone[path] == nil {
      gone[path] = now + Self.grace
      queue.asyncAfter(deadline: now + Self.grace) { [weak self] in self?.read() }
    }
    gone = gone.filter { $0.value > now }
    let paths = (matches.paths + gone.keys)
      .sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    contents.publish(paths, status: status(of: matches, count: paths.count))
  }

  private func status(of matches: PathPattern.Matches, count: Int) -> SourceStatus {
    if let error = matches.error {
      return .failed(SourceError(code: "directory", message: error))
    }
    guard count == 0 else { return .loaded }
    let message = "No file matches \(pattern.text)."
    return SourceStatus(
      .loaded, diagnostics: [SourceStatus.Diagnostic(code: "no-match", message: message)])
  }

  /// Watches these directories, and no others.
  ///
  /// - Returns: A Boolean value that indicates whether another directory is watched now.
  private func watch(_ directories: Set<String>) -> Bool {
    for path in watches.keys where !directories.contains(path) { watches[path] = nil }
    let new = directories.subtracting(watches.keys)
    for path in new {
      watches[path] = FileWatch(path: path, queue: queue) { [weak self] _ in
        self?.read()
      }
    }
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
    var paths: [String] = []
    /// The directories in which files may come or go.
    var directories: Set<String> = []
    /// The reason why a directory cannot be read, if there is one.
    var error: String?
  }

  let text: String

  /// Returns `nil` if the text has no wildcard.
  init?(_ text: String) {
    guard PathPattern.hasWildcard(text) else { return nil }
    self.text = text
  }

  private static func hasWildcard(_ text: some StringProtocol) -> Bool {
    text.contains { "*?[".contains($0) }
  }

  /// Finds the paths that match now.
  func matches() -> Matches {
    var result = Matches()
    // Each path consists of the names before the current one, with a slash at its end.
    var paths = [text.hasPrefix("/") ? "/" : ""]
    let names = text.split(separator: "/").map(String.init)
    for (number, name) in names.enumerated() {
      let ending = number == names.count - 1 ? "" : "/"
      let isPattern = PathPattern.hasWildcard(name)
      paths = paths.flatMap { path in
        // A path before the first wildcard need not exist yet.
        if isPattern || !result.directories.isEmpty && PathPattern.isDirectory(path) {
          result.directories.insert(path.isEmpty ? "." : path)
        }
        guard isPattern else { return [path + name + ending] }
        return result.names(in: path, matching: name).map { path + $0 + ending }
      }
    }
    result.paths = paths.filter(PathPattern.isFile)
      .sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    return result
  }

  private static func isDirectory(_ path: String) -> Bool {
    var isDirectory: ObjCBool = false
    return FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory)
      && isDirectory.boolValue
  }

  private static func isFile(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
  }
}

extension PathPattern.Matches {
  /// Returns the names in a directory that match a pattern.
  fileprivate mutating func names(in directory: String, matching pattern: String) -> [String] {
    guard let stream = opendir(directory.isEmpty ? "." : directory) else {
      if errno != ENOENT, errno != ENOTDIR {
        error = "cannot read \(directory): \(SystemError(errno).message)"
      }
      return []
    }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if fnmatch(pattern, name, FNM_PERIOD) == 0 { names.append(name) }
    }
    return names
  }
}
