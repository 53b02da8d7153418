package import SwappablePrimitives

/// The file system that the watcher and the sources use. Tests can replace it.
package struct FileAccess: Sendable {
  /// Returns the stamp of a path, without following a symbolic link at its end.
  package var stamp: @Sendable (_ path: String) -> Result<FileStamp, FileError>
  /// Returns the target of a symbolic link.
  package var readLink: @Sendable (_ path: String) -> Result<String, FileError>
  /// Opens a regular file to read from it.
  package var open: @Sendable (_ path: String) -> Result<OpenedFile, FileError>

  package init(
    stamp: @escaping @Sendable (_ path: String) -> Result<FileStamp, FileError>,
    readLink: @escaping @Sendable (_ path: String) -> Result<String, FileError>,
    open: @escaping @Sendable (_ path: String) -> Result<OpenedFile, FileError>
  ) {
    self.stamp = stamp
    self.readLink = readLink
    self.open = open
  }
}

/// An open regular file. It is closed when the last copy is released.
package struct OpenedFile: Sendable {
  /// Returns the current stamp.
  package var stamp: @Sendable () -> Result<FileStamp, FileError>
  /// Reads up to `count` bytes from an offset. Fewer bytes mean that the file ends there.
  package var read: @Sendable (_ offset: Int, _ count: Int) -> Result<[UInt8], FileError>

  package init(
    stamp: @escaping @Sendable () -> Result<FileStamp, FileError>,
    read: @escaping @Sendable (_ offset: Int, _ count: Int) -> Result<[UInt8], FileError>
  ) {
    self.stamp = stamp
    self.read = read
  }
}

/// Attributes that distinguish the states of a file without reading it.
package struct FileStamp: Sendable, Hashable {
  package enum Kind: Sendable, Hashable {
    case regular, directory, symbolicLink, other
  }

  package var identity: FileIdentity
  package var kind: Kind
  /// The size in bytes.
  package var size: Int64
  /// The time of the last write, in nanoseconds since 1970.
  package var modified: Int64
  /// The time of the last change of contents or attributes, in nanoseconds since 1970.
  package var changed: Int64

  package init(
    identity: FileIdentity, kind: Kind = .regular, size: Int64, modified: Int64, changed: Int64
  ) {
    self.identity = identity
    self.kind = kind
    self.size = size
    self.modified = modified
    self.changed = changed
  }

  /// Returns a Boolean value that indicates whether the contents may differ. The time of the last
  /// change of attributes is ignored.
  package func differsInContents(from other: FileStamp) -> Bool {
    identity != other.identity || kind != other.kind || size != other.size
      || modified != other.modified
  }
}

/// An error of an operation on a file.
package struct FileError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kinds of causes, which are the same on every platform.
  package enum Cause: Sendable, Hashable {
    /// The file, or a directory on its path, does not exist.
    case missing
    /// The process has no permission.
    case denied
    /// The symbolic links on the path form a circle, or there are too many.
    case loop
    /// The path leads to a directory instead of a file.
    case isDirectory
    /// The path leads to a pipe, a socket or a device.
    case isSpecial
    /// The system has no more watches, descriptors or memory for the process.
    case limit
    /// The file changed each time while it was being read.
    case unstable
    /// Any other error.
    case other
  }

  package var cause: Cause
  /// The operation that failed, as a verb: "cannot *open* /a".
  package var operation: String
  package var path: String
  /// The value of `errno`, or 0 if the error does not come from the system.
  package var code: Int32
  /// The reason, in the system's words if the error comes from the system.
  package var reason: String

  package init(cause: Cause, operation: String, path: String, code: Int32 = 0, reason: String) {
    self.cause = cause
    self.operation = operation
    self.path = path
    self.code = code
    self.reason = reason
  }

  package var description: String { "cannot \(operation) \(path): \(reason)" }

  /// Returns the error for a file that changed during each of several attempts to read it.
  package static func unstable(path: String) -> FileError {
    FileError(
      cause: .unstable, operation: "read", path: path,
      reason: "it changed each time while it was being read")
  }
}
