/// The file system as the watcher and the sources see it; tests put another one in its place.
package struct FileAccess: Sendable {
  /// The stamp of a path, without following a symbolic link at its end.
  package var stamp: @Sendable (_ path: String) -> Result<FileStamp, FileFailure>
  /// Where a symbolic link leads.
  package var readLink: @Sendable (_ path: String) -> Result<String, FileFailure>
  /// All bytes of a regular file, none of them older than the stamp or newer than it.
  package var read: @Sendable (_ path: String) -> Result<FileContents, FileFailure> {
    // Whoever puts another reading in its place means all of it.
    didSet { compare = nil }
  }
  /// Opens a regular file to read parts of it.
  package var open: @Sendable (_ path: String) -> Result<OpenedFile, FileFailure>
  /// Reads what differs from bytes that are known; nil where it takes `read` to find out.
  private var compare:
    (@Sendable (_ path: String, _ known: [UInt8]?) -> Result<FileDifference, FileFailure>)?

  package init(
    stamp: @escaping @Sendable (_ path: String) -> Result<FileStamp, FileFailure>,
    readLink: @escaping @Sendable (_ path: String) -> Result<String, FileFailure>,
    read: @escaping @Sendable (_ path: String) -> Result<FileContents, FileFailure>,
    open: @escaping @Sendable (_ path: String) -> Result<OpenedFile, FileFailure>,
    compare: (
      @Sendable (_ path: String, _ known: [UInt8]?) -> Result<FileDifference, FileFailure>
    )? = nil
  ) {
    self.stamp = stamp
    self.readLink = readLink
    self.read = read
    self.open = open
    self.compare = compare
  }

  /// All bytes of a regular file that differ from those that are known, none of them older than the
  /// stamp or newer than it.
  package func read(
    _ path: String, comparingWith known: [UInt8]?
  ) -> Result<FileDifference, FileFailure> {
    if let compare { return compare(path, known) }
    return read(path).map { FileDifference($0, from: known) }
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
