import Foundation
package import SwappablePrimitives

/// A pattern of paths, such as `conf.d/*.json`, with the wildcards `*`, `?` and `[…]` of a shell.
///
/// A wildcard does not match a slash, or a dot at the start of a name.
package struct PathPattern: Sendable, Equatable {
  /// The paths that match a pattern, and the directories that determine them.
  package struct Matches: Equatable {
    /// The paths in the order of their bytes.
    package var paths: [ByteString] = []
    /// The directories in which files may come or go.
    package var directories: Set<ByteString> = []
    /// The directories that cannot be read.
    var unreadable: [ByteString] = []
    /// The reason why the last of them cannot be read.
    var error: String?
  }

  package let text: ByteString

  /// Creates a pattern. Without a wildcard, it matches one path.
  init(pathOrPattern text: ByteString) { self.text = text }

  /// Returns `nil` if the text has no wildcard.
  package init?(_ text: ByteString) {
    guard PathPattern.hasWildcard(text) else { return nil }
    self.text = text
  }

  private static func hasWildcard(_ text: ByteString) -> Bool {
    text.bytes.contains { "*?[".utf8.contains($0) }
  }

  /// Finds the paths that match now.
  package func matches() -> Matches {
    var result = Matches()
    // Each path consists of the names before the current one, with a slash at its end.
    var paths: [ByteString] = [text.isAbsolutePath ? "/" : ""]
    let names = text.pathNames
    for (number, name) in names.enumerated() {
      let ending: ByteString = number == names.count - 1 ? "" : "/"
      let isPattern = PathPattern.hasWildcard(name)
      paths = paths.flatMap { path in
        // A path before the first wildcard need not exist yet.
        let isFirst = result.directories.isEmpty && number == names.count - 1
        if isPattern || isFirst || !result.directories.isEmpty && path.isDirectory {
          result.directories.insert(path.isEmpty ? "." : path)
        }
        guard isPattern else { return [path + name + ending] }
        return result.names(in: path, matching: name).map { path + $0 + ending }
      }
    }
    result.paths = paths.filter(\.isFile).sorted()
    return result
  }
}

extension PathPattern.Matches {
  /// Returns the names in a directory that match a pattern.
  fileprivate mutating func names(
    in directory: ByteString, matching pattern: ByteString
  ) -> [ByteString] {
    guard let names = (directory.isEmpty ? "." : directory).namesInDirectory() else {
      if errno != ENOENT, errno != ENOTDIR {
        error = "cannot read \(directory): \(String(cString: strerror(errno)))"
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
