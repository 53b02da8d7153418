extension FileAccess {
  /// What is read at once: it is compared while it is in the processor's cache.
  static let chunkSize = 1 << 17

  /// Compares a file with what is known of it, and reads what differs; again where the file changed
  /// meanwhile, a few times.
  ///
  /// A file is not mapped into memory: whoever truncated it would end this process.
  ///
  /// - Complexity: O(n) in the bytes of the file; memory for a chunk and for what differs, or for the
  ///   file where that is a good part of it.
  static func compareContents(
    of path: String, with known: [UInt8]?
  ) -> Result<FileDifference, FileFailure> {
    guard let known else {
      return live.read(path).map { FileDifference(bytes: .whole($0.bytes), stamp: $0.stamp) }
    }
    return SystemCalls.openForReading(path).flatMap { descriptor in
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

  /// - Returns: Nil where the file ended earlier than its size says.
  private static func compare(
    _ descriptor: Int32, size: Int64, with known: [UInt8], path: String
  ) throws(FileFailure) -> FileDifference.Bytes? {
    guard let size = Int(exactly: size), size < .max else {
      return try SystemCalls.read(descriptor, limit: .max, path: path).map { .whole($0) }.get()
    }
    let reader = ChunkReader(descriptor: descriptor, path: path)
    let prefix = try reader.commonPrefix(with: known, size: size)
    if prefix == size, size == known.count { return .same }
    // What is before the difference must not count as behind it, too.
    let suffix = try reader.commonSuffix(
      with: known, size: size, limit: min(size, known.count) - prefix)
    let count = size - prefix - suffix
    // So much is worth more to be had in one piece than it costs to read the rest again.
    let isLarge = count > size / 8
    let wanted = isLarge ? size : count
    let bytes = try SystemCalls.read(
      descriptor, from: isLarge ? 0 : prefix, limit: wanted, path: path
    ).get()
    if bytes.count != wanted { return nil }
    return isLarge ? .whole(bytes) : .between(prefix: prefix, suffix: suffix, bytes)
  }
}

/// Compares a file with bytes, a chunk at a time.
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
