#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

import SwappablePrimitives

extension FileAccess {
  /// The file system of the machine.
  package static let live = FileAccess(
    stamp: { stampOfPath($0) }, readLink: { target(ofLink: $0) }, open: { openFile(at: $0) })

  private static func stampOfPath(_ path: String) -> Result<FileStamp, FileError> {
    var status = stat()
    guard lstat(path, &status) == 0 else {
      return .failure(FileError(errno, operation: "find", path: path))
    }
    return .success(FileStamp(status))
  }

  /// Returns the stamp of an open file.
  static func stampOfDescriptor(_ descriptor: Int32, path: String) -> Result<FileStamp, FileError> {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else {
      return .failure(FileError(errno, operation: "read", path: path))
    }
    return .success(FileStamp(status))
  }

  private static func target(ofLink path: String) -> Result<String, FileError> {
    var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
    let count = buffer.withUnsafeMutableBytes { bytes in
      bytes.baseAddress.map { readlink(path, $0, bytes.count) } ?? -1
    }
    guard count >= 0 else {
      return .failure(FileError(errno, operation: "follow the link", path: path))
    }
    return .success(String(decoding: buffer[..<count], as: UTF8.self))
  }

  private static func openFile(at path: String) -> Result<OpenedFile, FileError> {
    let number = openForReading(path)
    guard number >= 0 else {
      return .failure(FileError(errno, operation: "open", path: path))
    }
    let descriptor = Descriptor(number: number)
    return stampOfDescriptor(number, path: path).flatMap { stamp in
      switch stamp.kind {
      case .regular, .symbolicLink:
        return .success(
          OpenedFile(
            stamp: { stampOfDescriptor(descriptor.number, path: path) },
            read: { bytes(of: descriptor.number, from: $0, limit: $1, path: path) }))
      case .directory:
        return .failure(
          FileError(
            cause: .isDirectory, operation: "read", path: path,
            reason: "it is a directory; use the path of a file in it"))
      case .other:
        return .failure(
          FileError(
            cause: .isSpecial, operation: "read", path: path,
            reason: "it is a pipe, socket or device; use a regular file, which can be read again"))
      }
    }
  }

  /// A file descriptor that is closed when the last reference is released.
  private final class Descriptor: Sendable {
    let number: Int32
    init(number: Int32) { self.number = number }
    deinit { _ = close(number) }
  }

  /// Reads bytes from an offset, up to a limit or to the end of the file.
  private static func bytes(
    of descriptor: Int32, from start: Int, limit: Int, path: String
  ) -> Result<[UInt8], FileError> {
    guard hasMemory(for: limit) else {
      return .failure(
        FileError(
          cause: .other, operation: "read", path: path, code: ENOMEM,
          reason: "it is larger than the available memory"))
    }
    // With a capacity of 0, the array would write its count to the empty array, which all threads
    // share.
    if limit == 0 { return .success([]) }
    var code: Int32 = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
      while count < limit, let address = buffer.baseAddress {
        let got = pread(descriptor, address + count, limit - count, off_t(start + count))
        if got == 0 { break }
        if got > 0 {
          count += got
        } else if errno != EINTR {
          code = errno
          break
        }
      }
    }
    guard code == 0 else {
      return .failure(FileError(code, operation: "read", path: path))
    }
    return .success(bytes)
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

// A function of the file, because in `FileAccess` the property `open` hides the system's function.
private func openForReading(_ path: String) -> Int32 {
  // Without `O_NONBLOCK`, opening a pipe that has no writer would never return.
  open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
}

extension FileStamp {
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
  }

  private static func nanoseconds(_ time: timespec) -> Int64 {
    Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
  }
}

extension FileError {
  /// Creates an error from a code of the system.
  ///
  /// - Parameters:
  ///   - code: The value of `errno`, read before another call can change it.
  ///   - operation: The operation that failed.
  ///   - path: The path of the file.
  init(_ code: Int32, operation: String, path: String) {
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
  static func linkLoop(_ path: String) -> FileError {
    FileError(ELOOP, operation: "find", path: path)
  }

  /// Returns the error for a path that continues after a file.
  static func notDirectory(_ path: String) -> FileError {
    FileError(ENOTDIR, operation: "look inside", path: path)
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
