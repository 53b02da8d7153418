/// The file system that the watcher and the sources use. Tests can replace it.
package struct FileAccess: Sendable {
  /// Returns the stamp of a path, without following a symbolic link at its end.
  package var stamp: @Sendable (_ path: String) -> Result<FileStamp, FileFailure>
  /// Returns the target of a symbolic link.
  package var readLink: @Sendable (_ path: String) -> Result<String, FileFailure>
  /// Reads all bytes of a regular file, as they are at the time of the stamp.
  package var read: @Sendable (_ path: String) -> Result<FileContents, FileFailure> {
    // A replaced `read` also replaces `compare`.
    didSet { compare = nil }
  }
  /// Opens a regular file to read parts of it.
  package var open: @Sendable (_ path: String) -> Result<OpenedFile, FileFailure>
  /// Reads the bytes that differ from known bytes. It is `nil` if only `read` is available.
  private var compare:
    (@Sendable (_ path: String, _ known: [UInt8]) -> Result<FileDifference, FileFailure>)?

  package init(
    stamp: @escaping @Sendable (_ path: String) -> Result<FileStamp, FileFailure>,
    readLink: @escaping @Sendable (_ path: String) -> Result<String, FileFailure>,
    read: @escaping @Sendable (_ path: String) -> Result<FileContents, FileFailure>,
    open: @escaping @Sendable (_ path: String) -> Result<OpenedFile, FileFailure>,
    compare: (
      @Sendable (_ path: String, _ known: [UInt8]) -> Result<FileDifference, FileFailure>
    )? = nil
  ) {
    self.stamp = stamp
    self.readLink = readLink
    self.read = read
    self.open = open
    self.compare = compare
  }

  /// Reads the bytes of a regular file that differ from known bytes, or all bytes if none are known.
  package func read(
    _ path: String, comparingWith known: [UInt8]?
  ) -> Result<FileDifference, FileFailure> {
    guard let known, let compare else {
      return read(path).map { FileDifference($0, from: known) }
    }
    return compare(path, known)
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

/// An open regular file. It is closed when the last copy is released.
package struct OpenedFile: Sendable {
  /// Returns the present stamp.
  package var stamp: @Sendable () -> Result<FileStamp, FileFailure>
  /// Reads up to `count` bytes from an offset.
  package var read: @Sendable (_ offset: Int, _ count: Int) -> Result<[UInt8], FileFailure>

  package init(
    stamp: @escaping @Sendable () -> Result<FileStamp, FileFailure>,
    read: @escaping @Sendable (_ offset: Int, _ count: Int) -> Result<[UInt8], FileFailure>
  ) {
    self.stamp = stamp
    self.read = read
  }
}

/// The bytes of a file, relative to known bytes.
package struct FileDifference: Sendable {
  /// The changed part of the bytes.
  package enum Bytes: Sendable {
    /// All bytes are the same.
    case same
    /// The unchanged prefix and suffix lengths, and the new bytes between them.
    case between(prefix: Int, suffix: Int, [UInt8])
    /// All bytes of the file.
    case whole([UInt8])
  }

  package var bytes: Bytes
  package var stamp: FileStamp

  package init(bytes: Bytes, stamp: FileStamp) {
    self.bytes = bytes
    self.stamp = stamp
  }

  /// Compares the complete contents of a file with known bytes.
  package init(_ contents: FileContents, from known: [UInt8]?) {
    let isSame = known.map { known in
      contents.bytes.count == known.count
        && contents.bytes.withUnsafeBytes { contents in
          known.withUnsafeBytes { ByteComparison.commonPrefix(contents, $0) }
        } == known.count
    }
    self.init(
      bytes: isSame == true ? .same : .whole(contents.bytes), stamp: contents.stamp)
  }
}

extension FileAccess {
  /// The real file system.
  package static let live = FileAccess(
    stamp: { SystemCalls.stamp($0) },
    readLink: { SystemCalls.readLink($0) },
    read: { readContents(of: $0) },
    open: { openedFile(at: $0) },
    compare: { compareContents(of: $0, with: $1) })

  private static func openedFile(at path: String) -> Result<OpenedFile, FileFailure> {
    SystemCalls.openForReading(path).flatMap { descriptor in
      let file = Descriptor(number: descriptor)
      do throws(FileFailure) {
        try checkIsRegular(SystemCalls.stamp(of: descriptor, path: path).get(), path: path)
      } catch {
        return .failure(error)
      }
      return .success(
        OpenedFile(
          stamp: { SystemCalls.stamp(of: file.number, path: path) },
          read: { SystemCalls.read(file.number, from: $0, limit: $1, path: path) }))
    }
  }

  /// A file descriptor that is closed when the last reference is released.
  private final class Descriptor: Sendable {
    let number: Int32
    init(number: Int32) { self.number = number }
    deinit { SystemCalls.closeDescriptor(number) }
  }

  /// Reads the file. If it changes during the read, reads it again, up to four times.
  private static func readContents(of path: String) -> Result<FileContents, FileFailure> {
    SystemCalls.openForReading(path).flatMap { descriptor in
      defer { SystemCalls.closeDescriptor(descriptor) }
      do throws(FileFailure) {
        for _ in 0..<4 {
          let before = try SystemCalls.stamp(of: descriptor, path: path).get()
          try checkIsRegular(before, path: path)
          // Read one byte more than the size, to notice growth.
          let limit = Int(min(before.size, Int64.max - 1)) + 1
          let bytes = try SystemCalls.read(descriptor, limit: limit, path: path).get()
          let after = try SystemCalls.stamp(of: descriptor, path: path).get()
          if !after.differsInContents(from: before), bytes.count == Int(before.size) {
            return .success(FileContents(bytes: bytes, stamp: after))
          }
        }
        return .failure(.unstable(path: path))
      } catch {
        return .failure(error)
      }
    }
  }

  static func checkIsRegular(_ stamp: FileStamp, path: String) throws(FileFailure) {
    switch stamp.kind {
    case .regular, .symbolicLink: return
    case .directory:
      throw FileFailure(
        cause: .isDirectory, operation: "read", path: path,
        reason: "it is a directory; name a file in it")
    case .other:
      throw FileFailure(
        cause: .isSpecial, operation: "read", path: path,
        reason: "it is a pipe, socket or device; only regular files can be read again and again")
    }
  }
}

extension FileFailure {
  static func unstable(path: String) -> FileFailure {
    FileFailure(
      cause: .unstable, operation: "read", path: path,
      reason: "it changed each time while it was being read")
  }
}

extension FileAccess {
  /// The size of a chunk: small enough to be compared while it is in the processor's cache.
  static let chunkSize = 1 << 17

  /// Compares a file with known bytes, and reads the difference. If the file changes meanwhile, tries
  /// again, up to four times.
  ///
  /// The file is not mapped into memory because truncating a mapped file crashes the process.
  ///
  /// - Complexity: O(n) in the bytes of the file. It needs memory for a chunk and the difference,
  ///   or for the whole file if much of it differs.
  static func compareContents(
    of path: String, with known: [UInt8]
  ) -> Result<FileDifference, FileFailure> {
    SystemCalls.openForReading(path).flatMap { descriptor in
      defer { SystemCalls.closeDescriptor(descriptor) }
      do throws(FileFailure) {
        for _ in 0..<4 {
          let before = try SystemCalls.stamp(of: descriptor, path: path).get()
          try checkIsRegular(before, path: path)
          let bytes = try compare(descriptor, size: before.size, with: known, path: path)
          let after = try SystemCalls.stamp(of: descriptor, path: path).get()
          if let bytes, !after.differsInContents(from: before) {
            return .success(FileDifference(bytes: bytes, stamp: after))
          }
        }
        return .failure(.unstable(path: path))
      } catch {
        return .failure(error)
      }
    }
  }

  /// - Returns: The difference, or `nil` if the file ends before its size.
  private static func compare(
    _ descriptor: Int32, size: Int64, with known: [UInt8], path: String
  ) throws(FileFailure) -> FileDifference.Bytes? {
    guard let size = Int(exactly: size), size < .max else {
      return try SystemCalls.read(descriptor, limit: .max, path: path).map { .whole($0) }.get()
    }
    let reader = ChunkReader(descriptor: descriptor, path: path)
    let prefix = try reader.commonPrefix(with: known, size: size)
    if prefix == size, size == known.count { return .same }
    // The prefix and the suffix must not overlap.
    let suffix = try reader.commonSuffix(
      with: known, size: size, limit: min(size, known.count) - prefix)
    let count = size - prefix - suffix
    // If this much differs, reading the whole file costs less than patching it.
    let isLarge = count > size / 8
    let wanted = isLarge ? size : count
    let bytes = try SystemCalls.read(
      descriptor, from: isLarge ? 0 : prefix, limit: wanted, path: path
    ).get()
    if bytes.count != wanted { return nil }
    return isLarge ? .whole(bytes) : .between(prefix: prefix, suffix: suffix, bytes)
  }
}

/// A comparison of a file with known bytes, in chunks.
private struct ChunkReader {
  let descriptor: Int32
  let path: String

  func commonPrefix(with known: [UInt8], size: Int) throws(FileFailure) -> Int {
    let limit = min(size, known.count)
    return try compare(with: known) { (known, chunk) throws(FileFailure) in
      var offset = 0
      while offset < limit {
        let wanted = min(chunk.count, limit - offset)
        let count = try SystemCalls.read(
          descriptor, from: offset, into: UnsafeMutableRawBufferPointer(rebasing: chunk[..<wanted]),
          path: path
        ).get()
        let common = ByteComparison.commonPrefix(
          UnsafeRawBufferPointer(rebasing: chunk[..<count]),
          UnsafeRawBufferPointer(rebasing: known[offset...]))
        offset += common
        if common < wanted { break }
      }
      return offset
    }
  }

  func commonSuffix(with known: [UInt8], size: Int, limit: Int) throws(FileFailure) -> Int {
    try compare(with: known) { (known, chunk) throws(FileFailure) in
      var length = 0
      while length < limit {
        let wanted = min(chunk.count, limit - length)
        let count = try SystemCalls.read(
          descriptor, from: size - length - wanted,
          into: UnsafeMutableRawBufferPointer(rebasing: chunk[..<wanted]), path: path
        ).get()
        guard count == wanted else { break }
        let common = ByteComparison.commonSuffix(
          UnsafeRawBufferPointer(rebasing: chunk[..<wanted]),
          UnsafeRawBufferPointer(rebasing: known[..<(known.count - length)]))
        length += common
        if common < wanted { break }
      }
      return length
    }
  }

  private func compare(
    with known: [UInt8],
    _ body: (UnsafeRawBufferPointer, UnsafeMutableRawBufferPointer) throws(FileFailure) -> Int
  ) throws(FileFailure) -> Int {
    let chunk = UnsafeMutableRawBufferPointer.allocate(
      byteCount: FileAccess.chunkSize, alignment: 64)
    defer { chunk.deallocate() }
    let result: Result<Int, FileFailure> = known.withUnsafeBytes { known in
      Result { () throws(FileFailure) in try body(known, chunk) }
    }
    return try result.get()
  }
}
