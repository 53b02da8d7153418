/// The file system as the watcher and the sources see it; tests put another one in its place.
package struct FileAccess: Sendable {
  /// The stamp of a path, without following a symbolic link at its end.
  package var stamp: @Sendable (_ path: String) -> Result<FileStamp, FileFailure>
  /// Where a symbolic link leads.
  package var readLink: @Sendable (_ path: String) -> Result<String, FileFailure>
  /// All bytes of a regular file, none of them older than the stamp or newer than it.
  package var read: @Sendable (_ path: String) -> Result<FileContents, FileFailure>
  /// Opens a regular file to read parts of it.
  package var open: @Sendable (_ path: String) -> Result<OpenedFile, FileFailure>

  package init(
    stamp: @escaping @Sendable (_ path: String) -> Result<FileStamp, FileFailure>,
    readLink: @escaping @Sendable (_ path: String) -> Result<String, FileFailure>,
    read: @escaping @Sendable (_ path: String) -> Result<FileContents, FileFailure>,
    open: @escaping @Sendable (_ path: String) -> Result<OpenedFile, FileFailure>
  ) {
    self.stamp = stamp
    self.readLink = readLink
    self.read = read
    self.open = open
  }
}

/// The bytes of a file at one moment.
package struct FileContents: Sendable {
  package var bytes: [UInt8]
  package var stamp: FileStamp

  package init(bytes: [UInt8], stamp: FileStamp) {
    self.bytes = bytes
    self.stamp = stamp
  }
}

/// A regular file that is open for as long as this is kept.
package struct OpenedFile: Sendable {
  /// The stamp of this moment.
  package var stamp: @Sendable () -> Result<FileStamp, FileFailure>
  /// So many bytes from an offset on, fewer where the file ends before.
  package var read: @Sendable (_ offset: Int, _ count: Int) -> Result<[UInt8], FileFailure>

  package init(
    stamp: @escaping @Sendable () -> Result<FileStamp, FileFailure>,
    read: @escaping @Sendable (_ offset: Int, _ count: Int) -> Result<[UInt8], FileFailure>
  ) {
    self.stamp = stamp
    self.read = read
  }
}
