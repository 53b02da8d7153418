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

  /// A descriptor that is closed with the last reference to it.
  private final class Descriptor: Sendable {
    let number: Int32
    init(number: Int32) { self.number = number }
    deinit { SystemCalls.closeDescriptor(number) }
  }

  /// Reads again where the file changed meanwhile, a few times.
  private static func readContents(of path: String) -> Result<FileContents, FileFailure> {
    SystemCalls.openForReading(path).flatMap { descriptor in
      defer { SystemCalls.closeDescriptor(descriptor) }
      do throws(FileFailure) {
        for _ in 0..<4 {
          let before = try SystemCalls.stamp(of: descriptor, path: path).get()
          try checkIsRegular(before, path: path)
          // One byte more than there should be, so that a file that grew is noticed.
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
