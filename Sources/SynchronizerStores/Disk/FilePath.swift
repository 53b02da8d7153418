import Foundation
import SwappablePrimitives

/// Where a path leads.
enum FilePath {
  /// Follows the symbolic links at the end of a path.
  ///
  /// - Returns: The folder, and the name in it at which no link stands; nothing need be there.
  static func resolve(_ path: String) throws(StoreError) -> (folder: String, name: String) {
    guard !path.utf8.contains(0), let last = path.utf8.last, last != UInt8(ascii: "/") else {
      throw StoreError(
        .missing, "this is not the path of a file", path: path, help: "give the path of a file")
    }
    var path = path
    // More links than any system follows.
    for _ in 0..<64 {
      let (folder, name) = split(path)
      if name == "." || name == ".." { break }
      guard let target = try? FileManager.default.destinationOfSymbolicLink(atPath: path) else {
        return (folder, name)
      }
      path = isAbsolutePath(target) ? target : folder + "/" + target
    }
    throw StoreError(
      .notAFile, "the path leads to no file", path: path,
      help: "give the path of a file; symbolic links must not lead in a circle")
  }

  private static func split(_ path: String) -> (folder: String, name: String) {
    // By bytes: a combining character after the slash would be one character with it.
    let bytes = path.utf8
    guard let slash = bytes.lastIndex(of: UInt8(ascii: "/")) else { return (".", path) }
    let folder = String(path[..<slash])
    return (folder.isEmpty ? "/" : folder, String(path[bytes.index(after: slash)...]))
  }
}
