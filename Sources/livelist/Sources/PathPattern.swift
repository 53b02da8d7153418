import Foundation

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
