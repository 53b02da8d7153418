#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

package import SwappablePrimitives

/// The file system that the watcher and the sources use. Tests can replace it.
package struct FileAccess: Sendable {
  /// Returns the stamp of a path, without following a symbolic link at its end.
  package var stamp: @Sendable (_ path: ByteString) -> Result<FileStamp, FileError>
  /// Returns the target of a symbolic link.
  var readLink: @Sendable (_ path: ByteString) -> Result<ByteString, FileError>
  /// Opens a regular file to read from it.
  package var open: @Sendable (_ path: ByteString) -> Result<OpenedFile, FileError>
}

/// An open regular file. It is closed when the last copy is released.
package struct OpenedFile: Sendable {
  var path: ByteString
  /// Returns the current stamp.
  package var stamp: @Sendable () -> Result<FileStamp, FileError>
  /// Fills a buffer with the bytes from an offset, and returns their number. If the buffer is not full,
  /// the file ends there.
  package var read:
    @Sendable (_ offset: Int, _ buffer: UnsafeMutableRawBufferPointer) -> Result<Int, FileError>
  /// Returns the offset itself, or the end of the hole in which it is. A hole reads as zeros, and takes no space on disk.
  package var endOfHole: @Sendable (_ offset: Int) -> Int = { $0 }

  package init(
    path: ByteString,
    stamp: @escaping @Sendable () -> Result<FileStamp, FileError>,
    read:
      @escaping @Sendable (_ offset: Int, _ buffer: UnsafeMutableRawBufferPointer)
      -> Result<Int, FileError>
  ) {
    self.path = path
    self.stamp = stamp
    self.read = read
  }

  /// Returns up to `count` bytes from an offset. If there are fewer, the file ends there.
  ///
  /// - Parameters:
  ///   - offset: The offset of the first byte.
  ///   - count: The maximum number of bytes.
  ///   - chunkSize: The number of bytes to read before `shouldContinue` is called, or `nil` to read all at once.
  ///   - shouldContinue: A closure that is called with each chunk. If it returns `false`, the chunk is the last one.
  package func bytes(
    from offset: Int, count: Int, chunkSize: Int? = nil,
    shouldContinue: (UnsafeRawBufferPointer) -> Bool = { _ in true }
  ) -> Result<[UInt8], FileError> {
    guard Self.hasMemory(for: count) else {
      return .failure(
        FileError(
          cause: .other, operation: "read", path: path, code: ENOMEM,
          reason: "it is larger than the available memory"))
    }
    // With a capacity of 0, the array would write its count to the empty array, which all threads
    // share.
    if count == 0 { return .success([]) }
    var result = Result<Int, FileError>.success(0)
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initializedCount in
      let buffer = UnsafeMutableRawBufferPointer(buffer)
      while initializedCount < count {
        let start = initializedCount
        let chunk = UnsafeMutableRawBufferPointer(
          rebasing: buffer[start..<min(count, start + (chunkSize ?? count))])
        result = read(offset + start, chunk)
        guard case .success(let read) = result else { return }
        initializedCount += read
        let part = UnsafeRawBufferPointer(rebasing: chunk[..<read])
        if read < chunk.count || !shouldContinue(part) { return }
      }
    }
    return result.map { _ in bytes }
  }

  /// Returns a Boolean value that indicates whether enough memory is available.
  ///
  /// A sparse file may be larger than the memory, and an array that cannot be allocated ends the
  /// process.
  private static func hasMemory(for count: Int) -> Bool {
    guard count > 1 << 28 else { return true }
    let memory = mmap(nil, count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
    guard memory != MAP_FAILED else { return false }
    munmap(memory, count)
    return true
  }
}

extension FileAccess {
  /// The file system of the machine.
  package static let live = FileAccess(
    stamp: { path in
      var status = stat()
      guard path.withCString({ lstat($0, &status) }) == 0 else {
        return .failure(FileError(errno, operation: "find", path: path))
      }
      return .success(FileStamp(status))
    },
    readLink: { path in
      path.linkTarget.map { .success($0) }
        ?? .failure(FileError(errno, operation: "follow the link", path: path))
    },
    open: { openFile(at: $0) })

  /// Returns the stamp of an open file.
  static func stampOfDescriptor(
    _ descriptor: Int32, path: ByteString
  ) -> Result<FileStamp, FileError> {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else {
      return .failure(FileError(errno, operation: "read", path: path))
    }
    return .success(FileStamp(status))
  }

  private static func openFile(at path: ByteString) -> Result<OpenedFile, FileError> {
    let special = FileError(
      cause: .isSpecial, operation: "read", path: path,
      reason: "it is a pipe, socket or device; use a regular file, which can be read again")
    // The writer of a pipe that is opened writes, and its bytes are lost when the pipe is closed.
    if path.fileStatus().map({ $0.st_mode & S_IFMT == S_IFIFO }) == true {
      return .failure(special)
    }
    let number = openForReading(path)
    guard number >= 0 else {
      return .failure(FileError(errno, operation: "open", path: path))
    }
    let descriptor = Descriptor(number: number)
    return stampOfDescriptor(number, path: path).flatMap { stamp in
      switch stamp.kind {
      case .regular, .symbolicLink:
        if stamp.size == 0, hasContents(number, path: path) {
          return .failure(
            FileError(
              cause: .isSpecial, operation: "read", path: path,
              reason: "the system makes its contents when they are read, and reports no size; "
                + "copy it to a regular file"))
        }
        var file = OpenedFile(
          path: path,
          stamp: { stampOfDescriptor(descriptor.number, path: path) },
          read: { fill($1, from: descriptor.number, at: $0, path: path) })
        file.endOfHole = { offset in
          let end = lseek(descriptor.number, off_t(offset), seekData)
          // The rest of the file may be a hole.
          return end >= 0 ? Int(end) : errno == ENXIO ? .max : offset
        }
        return .success(file)
      case .directory:
        return .failure(
          FileError(
            cause: .isDirectory, operation: "read", path: path,
            reason: "it is a directory; use the path of a file in it"))
      case .other: return .failure(special)
      }
    }
  }

  /// Returns a Boolean value that indicates whether a file whose size is 0 has contents, as in `/proc`.
  private static func hasContents(_ descriptor: Int32, path: ByteString) -> Bool {
    var byte: UInt8 = 0
    // A file that a program is writing has a size after its first byte was read.
    guard pread(descriptor, &byte, 1, 0) > 0 else { return false }
    return (try? stampOfDescriptor(descriptor, path: path).get().size) == 0
  }

  /// A file descriptor that is closed when the last reference is released.
  private final class Descriptor: Sendable {
    let number: Int32
    init(number: Int32) { self.number = number }
    deinit { _ = close(number) }
  }

  private static func fill(
    _ buffer: UnsafeMutableRawBufferPointer, from descriptor: Int32, at start: Int, path: ByteString
  ) -> Result<Int, FileError> {
    var count = 0
    while count < buffer.count, let address = buffer.baseAddress {
      let got = pread(descriptor, address + count, buffer.count - count, off_t(start + count))
      if got == 0 { break }
      if got > 0 {
        count += got
      } else if errno != EINTR {
        return .failure(FileError(errno, operation: "read", path: path))
      }
    }
    return .success(count)
  }
}

/// `SEEK_DATA`, which is not imported.
private var seekData: Int32 {
  #if canImport(Darwin)
    4
  #else
    3
  #endif
}

// A function of the file, because in `FileAccess` the property `open` hides the system's function.
private func openForReading(_ path: ByteString) -> Int32 {
  // Without `O_NONBLOCK`, opening a pipe that has no writer would never return.
  path.withCString { open($0, O_RDONLY | O_CLOEXEC | O_NONBLOCK) }
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
  /// A Boolean value that indicates whether no path leads to the file any more.
  package var isUnlinked = false

  package init(
    identity: FileIdentity, kind: Kind = .regular, size: Int64, modified: Int64, changed: Int64
  ) {
    (self.identity, self.kind, self.size) = (identity, kind, size)
    (self.modified, self.changed) = (modified, changed)
  }

  /// Returns a Boolean value that indicates whether the contents may differ. The time of the last
  /// change of attributes is ignored.
  package func differsInContents(from other: FileStamp) -> Bool {
    identity != other.identity || kind != other.kind || size != other.size
      || modified != other.modified
  }
}

extension FileStamp {
  /// Creates the stamp of the file to which a path leads, without opening it. Returns `nil` if there is
  /// none.
  package init?(at path: ByteString) {
    guard let status = path.fileStatus() else { return nil }
    self.init(status)
  }

  init(_ status: stat) {
    let kind: Kind =
      switch status.st_mode & S_IFMT {
      case S_IFREG: .regular
      case S_IFDIR: .directory
      case S_IFLNK: .symbolicLink
      default: .other
      }
    self.init(
      identity: FileIdentity(status),
      kind: kind,
      size: Int64(status.st_size),
      modified: Self.nanoseconds(status.modified),
      changed: Self.nanoseconds(status.changed))
    isUnlinked = status.st_nlink == 0
  }

  private static func nanoseconds(_ time: timespec) -> Int64 {
    Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
  }
}

extension stat {
  #if canImport(Darwin)
    fileprivate var modified: timespec { st_mtimespec }
    fileprivate var changed: timespec { st_ctimespec }
  #else
    fileprivate var modified: timespec { st_mtim }
    fileprivate var changed: timespec { st_ctim }
  #endif
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
  var operation: String
  package var path: ByteString
  /// The value of `errno`, or 0 if the error does not come from the system.
  var code: Int32
  /// The reason, in the system's words if the error comes from the system.
  var reason: String

  package init(cause: Cause, operation: String, path: ByteString, code: Int32 = 0, reason: String) {
    self.cause = cause
    self.operation = operation
    self.path = path
    self.code = code
    self.reason = reason
  }

  package var description: String { "cannot \(operation) \(path): \(reason)" }

  /// Returns the error for a file that changed during each of several attempts to read it.
  package static func unstable(path: ByteString) -> FileError {
    FileError(
      cause: .unstable, operation: "read", path: path,
      reason: "it changed each time while it was being read")
  }
}

extension FileError {
  /// Creates an error from a code of the system.
  ///
  /// - Parameters:
  ///   - code: The value of `errno`, read before another call can change it.
  ///   - operation: The operation that failed.
  ///   - path: The path of the file.
  init(_ code: Int32, operation: String, path: ByteString) {
    let cause: Cause =
      switch code {
      case ENOENT, ENOTDIR: .missing
      case EACCES, EPERM: .denied
      case ELOOP: .loop
      case EISDIR: .isDirectory
      case ENOSPC, EMFILE, ENFILE, ENOMEM: .limit
      default: .other
      }
    self.init(
      cause: cause, operation: operation, path: path, code: code,
      reason: String(cString: strerror(code)))
  }

  /// Returns the error for a path with more symbolic links than any system follows.
  static func linkLoop(_ path: ByteString) -> FileError {
    FileError(ELOOP, operation: "find", path: path)
  }

  /// Returns the error for a path that continues after a file.
  static func notDirectory(_ path: ByteString) -> FileError {
    FileError(ENOTDIR, operation: "look inside", path: path)
  }
}
