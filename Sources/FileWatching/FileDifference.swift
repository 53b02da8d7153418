/// What the bytes of a file are, told by those that were known of it.
package struct FileDifference: Sendable {
  /// The bytes between those that are the same, or all of them.
  package enum Bytes: Sendable {
    /// Every byte is as it was known.
    case same
    /// So many known bytes at the start and at the end are still there; what stands between them now.
    case between(prefix: Int, suffix: Int, [UInt8])
    /// All bytes: much of the file may differ.
    case whole([UInt8])
  }

  package var bytes: Bytes
  package var stamp: FileStamp

  package init(bytes: Bytes, stamp: FileStamp) {
    self.bytes = bytes
    self.stamp = stamp
  }

  /// Compares bytes that were read as a whole.
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
