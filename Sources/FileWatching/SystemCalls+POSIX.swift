#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

import SwappablePrimitives

/// The system calls of the watcher, which return their errors.
enum SystemCalls {
  /// Returns the stamp of a path, without following a symbolic link at its end.
  static func stamp(_ path: String) -> Result<FileStamp, FileFailure> {
    var status = stat()
    guard lstat(path, &status) == 0 else {
      return .failure(FileFailure(errno, operation: "find", path: path))
    }
    return .success(FileStamp(status))
  }

  static func stamp(of descriptor: Int32, path: String) -> Result<FileStamp, FileFailure> {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else {
      return .failure(FileFailure(errno, operation: "read", path: path))
    }
    return .success(FileStamp(status))
  }

  static func readLink(_ path: String) -> Result<String, FileFailure> {
    var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
    let count = buffer.withUnsafeMutableBytes { bytes in
      bytes.baseAddress.map { readlink(path, $0, bytes.count) } ?? -1
    }
    guard count >= 0 else {
      return .failure(FileFailure(errno, operation: "follow the link", path: path))
    }
    return .success(String(decoding: buffer[..<count], as: UTF8.self))
  }

  /// Opens a file without blocking. Otherwise, opening a pipe without a writer would never return.
  static func openForReading(_ path: String) -> Result<Int32, FileFailure> {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else {
      return .failure(FileFailure(errno, operation: "open", path: path))
    }
    return .success(descriptor)
  }

  static func closeDescriptor(_ descriptor: Int32) {
    _ = close(descriptor)
  }

  /// Reads bytes from an offset, up to a limit or to the end of the file.
  static func read(
    _ descriptor: Int32, from start: Int = 0, limit: Int, path: String
  ) -> Result<[UInt8], FileFailure> {
    guard hasMemory(for: limit) else {
      return .failure(
        FileFailure(
          cause: .other, operation: "read", path: path, code: ENOMEM,
          reason: "it is larger than the memory that is to be had"))
    }
    // With a capacity of 0, the array would write its count to the empty array, which all threads
    // share.
    if limit == 0 { return .success([]) }
    var failure: Int32 = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
      (count, failure) = read(descriptor, from: start, into: UnsafeMutableRawBufferPointer(buffer))
    }
    guard failure == 0 else {
      return .failure(FileFailure(failure, operation: "read", path: path))
    }
    return .success(bytes)
  }

  /// Reads bytes from an offset into memory.
  ///
  /// - Returns: The number of bytes, which is less than the size of the memory only at the end of
  ///   the file.
  static func read(
    _ descriptor: Int32, from start: Int, into memory: UnsafeMutableRawBufferPointer, path: String
  ) -> Result<Int, FileFailure> {
    let (count, failure) = read(descriptor, from: start, into: memory)
    return failure == 0
      ? .success(count) : .failure(FileFailure(failure, operation: "read", path: path))
  }

  private static func read(
    _ descriptor: Int32, from start: Int, into memory: UnsafeMutableRawBufferPointer
  ) -> (count: Int, failure: Int32) {
    var count = 0
    while count < memory.count, let address = memory.baseAddress {
      let got = pread(descriptor, address + count, memory.count - count, off_t(start + count))
      if got == 0 { break }
      if got > 0 {
        count += got
      } else if errno != EINTR {
        return (count, errno)
      }
    }
    return (count, 0)
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

extension FileFailure {
  /// Creates a failure from an error code.
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

  /// Returns the failure for a path with more symbolic links than any system follows.
  static func linkLoop(_ path: String) -> FileFailure {
    FileFailure(ELOOP, operation: "find", path: path)
  }

  static func notDirectory(_ path: String) -> FileFailure {
    FileFailure(ENOTDIR, operation: "look inside", path: path)
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
