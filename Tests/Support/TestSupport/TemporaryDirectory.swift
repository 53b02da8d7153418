package import Foundation
import SwappablePrimitives

/// A directory for a test, which is deleted with the last reference to it.
package final class TemporaryDirectory: Sendable {
  package let path: String

  package init() throws {
    // Without symbolic links, because some tests compare the path.
    let base = FileManager.default.temporaryDirectory.resolvingSymlinksInPath().path
    path = base + "/swappable-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// The path of a name in the directory.
  package func callAsFunction(_ name: String) -> String { path + "/" + name }

  /// The names of the files and directories in it.
  package var names: [String] {
    get throws { try FileManager.default.contentsOfDirectory(atPath: path) }
  }

  package func makeDirectory(_ name: String) throws {
    try FileManager.default.createDirectory(atPath: self(name), withIntermediateDirectories: true)
  }

  package func move(_ name: String, to other: String) throws {
    guard rename(self(name), self(other)) == 0 else { throw POSIXError.last }
  }

  /// Exchanges two names in one step.
  package func exchange(_ name: String, _ other: String) throws {
    #if canImport(Darwin)
      let result = renamex_np(self(name), self(other), UInt32(RENAME_SWAP))
    #else
      let rename:
        (
          @convention(c) (Int32, UnsafePointer<CChar>, Int32, UnsafePointer<CChar>, UInt32)
            -> Int32
        )? = gnuFunction("renameat2")
      let result = rename?(AT_FDCWD, self(name), AT_FDCWD, self(other), 2)  // RENAME_EXCHANGE
    #endif
    guard result == 0 else { throw POSIXError.last }
  }

  package func link(_ name: String, to destination: String) throws {
    guard symlink(destination, self(name)) == 0 else { throw POSIXError.last }
  }

  package func hardLink(_ name: String, as other: String) throws {
    guard Foundation.link(self(name), self(other)) == 0 else { throw POSIXError.last }
  }

  package func remove(_ name: String) throws {
    try FileManager.default.removeItem(atPath: self(name))
  }

  /// Opens and truncates a file, writes the parts one by one, and closes it, as a plain save does.
  package func write(_ parts: String..., to name: String) throws {
    let descriptor = try OpenFile(self(name), O_WRONLY | O_CREAT | O_TRUNC)
    for part in parts { try descriptor.write(part) }
  }
}

/// A file that is open until this object is released.
package final class OpenFile {
  package let descriptor: Int32

  package init(_ path: String, _ flags: Int32) throws {
    descriptor = open(path, flags, 0o644)
    guard descriptor >= 0 else { throw POSIXError.last }
  }

  deinit { close(descriptor) }

  package func write(_ text: String) throws {
    let bytes = Array(text.utf8)
    guard Foundation.write(descriptor, bytes, bytes.count) == bytes.count else {
      throw POSIXError.last
    }
  }
}

extension POSIXError {
  package static var last: POSIXError { POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
}
