import Dispatch
import Foundation
import SwappablePrimitives

/// A change that is about to be made on the disk.
package enum FileStep: Sendable {
  case create(name: String)
  case write(descriptor: Int32, bytes: ArraySlice<UInt8>)
  case sync(name: String)
  case rename(name: String, to: String)
  case remove(name: String)
  case syncFolder
}

/// A closure that is called before each change. It returns an `errno` to make the change fail, or 0.
///
/// A test simulates a crash at a step: it lets this step and all later steps fail.
package typealias FileHook = @Sendable (FileStep) -> Int32

/// An open folder. Operations use names in the folder that is open, and follow no symbolic links.
final class Folder: Sendable {
  /// The attributes of a directory entry.
  struct Status: Sendable, Hashable {
    var identity: FileIdentity
    var isRegular: Bool
    var size: Int
    var linkCount: Int
    var permissions: mode_t
    var owner: uid_t
    var group: gid_t
  }

  /// The absolute path, without symbolic links.
  private let location: ByteString
  private let descriptor: Int32
  private let hook: FileHook?

  /// Opens an existing folder.
  init(path: ByteString, hook: FileHook?) throws(StoreError) {
    descriptor = path.withCString { open($0, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
    guard descriptor >= 0 else {
      throw StoreError(errno, cannot: "open the folder", path.description)
    }
    self.hook = hook
    var resolved = path
    if let real = path.withCString({ realpath($0, nil) }) {
      resolved = ByteString(cString: real)
      free(real)
    }
    location = resolved
  }

  private init(_ descriptor: Int32, _ location: ByteString, _ hook: FileHook?) {
    (self.descriptor, self.location, self.hook) = (descriptor, location, hook)
  }

  deinit { close(descriptor) }

  /// The absolute path for people, without symbolic links.
  var path: String { location.description }

  /// Returns the path of a name for people.
  func path(of name: String) -> String { location.appending(name: ByteString(name)).description }

  /// The path of a folder beside this one that has the same name with a dot before it, and an extension.
  func hiddenSibling(_ suffix: ByteString) -> ByteString {
    location.parentDirectory.appending(name: "." + (location.pathNames.last ?? "") + suffix)
  }

  /// Returns a Boolean value that indicates whether the other folder is this one, or lies in it.
  func contains(_ other: Folder) -> Bool {
    other.location.appending(name: "").hasPrefix(location.appending(name: ""))
  }

  /// Opens a folder in this one.
  ///
  /// - Parameter creating: A Boolean value that indicates whether to create it if nothing has this name.
  /// - Returns: The folder, or `nil` if nothing has this name.
  func folder(_ name: String, creating: Bool) throws(StoreError) -> Folder? {
    for isSecond in [false, true] {
      let opened = openat(descriptor, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
      if opened >= 0 { return Folder(opened, location.appending(name: ByteString(name)), hook) }
      guard errno == ENOENT, !isSecond else {
        throw StoreError(errno, cannot: "open the folder", path(of: name))
      }
      guard creating else { return nil }
      try willPerform(.create(name: name), "create the folder", name)
      guard mkdirat(descriptor, name, 0o777) == 0 || errno == EEXIST else {
        throw StoreError(Self.nameError, cannot: "create the folder", path(of: name))
      }
    }
    return nil
  }

  /// Returns the names in the folder that are UTF-8, in no particular order. A store uses no other names.
  func names() throws(StoreError) -> [String] {
    guard let names = ByteString(".").namesInDirectory(from: descriptor) else {
      throw StoreError(errno, cannot: "list the folder", path)
    }
    return names.compactMap(\.string)
  }

  /// Returns the attributes of a name, or `nil` if nothing has this name.
  func status(_ name: String) throws(StoreError) -> Status? {
    var found = stat()
    guard fstatat(descriptor, name, &found, AT_SYMLINK_NOFOLLOW) == 0 else {
      if errno == ENOENT { return nil }
      throw StoreError(errno, cannot: "find", path(of: name))
    }
    return Status(found)
  }

  /// Returns the bytes of a regular file, or `nil` if nothing has this name.
  func read(_ name: String) throws(StoreError) -> [UInt8]? {
    // Without O_NONBLOCK, opening a pipe without a writer would block forever.
    let file = openat(descriptor, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard file >= 0 else {
      if errno == ENOENT { return nil }
      throw StoreError(errno, cannot: "open", path(of: name))
    }
    defer { close(file) }
    var found = stat()
    guard fstat(file, &found) == 0 else { throw StoreError(errno, cannot: "read", path(of: name)) }
    guard Status(found).isRegular else {
      throw StoreError(
        .notAFile, "this is not a regular file", path: path(of: name), help: "remove it")
    }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(Int(found.st_size))
    var part = [UInt8](repeating: 0, count: min(max(Int(found.st_size) + 1, 512), 1 << 20))
    while true {
      let count = Foundation.read(file, &part, part.count)
      if count == 0 { return bytes }
      if count > 0 {
        bytes += part[..<count]
      } else if errno != EINTR {
        throw StoreError(errno, cannot: "read", path(of: name))
      }
    }
  }

  /// Creates a file and writes it to the disk. If this fails, the file is removed.
  ///
  /// - Parameters:
  ///   - name: A name that is not in use.
  ///   - bytes: The contents.
  ///   - model: The attributes of the file whose permissions and owner the new file gets.
  func create(
    _ name: String, _ bytes: some Collection<UInt8>, like model: Status? = nil
  ) throws(StoreError) {
    try willPerform(.create(name: name), "create", name)
    let file = openat(
      descriptor, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o666)
    guard file >= 0 else { throw StoreError(errno, cannot: "create", path(of: name)) }
    defer { close(file) }
    do throws(StoreError) {
      if let model {
        // This fails without privileges. Then the file already has the owner of this process.
        _ = fchown(file, model.owner, model.group)
        guard fchmod(file, model.permissions) == 0 else {
          throw StoreError(errno, cannot: "set the permissions of", path(of: name))
        }
      }
      try write(Array(bytes), to: file, name)
      try sync(file, name)
    } catch {
      try? remove(name)
      throw error
    }
  }

  /// Appends bytes to an existing file and writes them to the disk.
  ///
  /// If this fails, the file may have a part of the bytes.
  func append(_ bytes: [UInt8], to name: String) throws(StoreError) {
    let file = openat(descriptor, name, O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC)
    guard file >= 0 else { throw StoreError(errno, cannot: "open", path(of: name)) }
    defer { close(file) }
    try write(bytes, to: file, name)
    try sync(file, name)
  }

  /// The error of an operation with a new name. Some file systems report a character that they do not take as `EINVAL`.
  private static var nameError: Int32 { errno == EINVAL ? EILSEQ : errno }

  /// Renames a file.
  ///
  /// - Parameters:
  ///   - name: The name of the file.
  ///   - other: The other name.
  ///   - folder: The folder of the other name, or `nil` for this one.
  ///   - isReplacing: A Boolean value that indicates whether to replace the file that has the other name.
  func rename(
    _ name: String, to other: String, in folder: Folder? = nil, replacing isReplacing: Bool = true
  ) throws(StoreError) {
    let folder = folder ?? self
    try folder.willPerform(.rename(name: name, to: other), "rename \(name) to", other)
    // A second name is never given to a name that is taken. Some file systems have no second names.
    if !isReplacing, linkat(descriptor, name, folder.descriptor, other, 0) == 0 {
      unlinkat(descriptor, name, 0)
      return
    } else if !isReplacing, errno == EEXIST {
      throw StoreError(
        .foreign, "something else has the name", path: folder.path(of: other), help: "rename it")
    }
    guard renameat(descriptor, name, folder.descriptor, other) == 0 else {
      throw StoreError(Self.nameError, cannot: "rename \(name) to", folder.path(of: other))
    }
  }

  /// Removes a name if it exists. For a symbolic link, it removes the link itself.
  func remove(_ name: String) throws(StoreError) {
    try willPerform(.remove(name: name), "remove", name)
    guard unlinkat(descriptor, name, 0) == 0 || errno == ENOENT else {
      throw StoreError(errno, cannot: "remove", path(of: name))
    }
  }

  /// Removes a folder if it is empty.
  ///
  /// - Returns: A Boolean value that indicates whether it was removed.
  func removeFolder(_ name: String) throws(StoreError) -> Bool {
    try willPerform(.remove(name: name), "remove", name)
    return unlinkat(descriptor, name, AT_REMOVEDIR) == 0
  }

  /// Writes new, renamed and removed names to the disk.
  func sync() throws(StoreError) {
    if let number = hook?(.syncFolder), number != 0 {
      throw StoreError(number, cannot: "write the folder", path)
    }
    // Some file systems do not support this operation and do not need it.
    guard writeToDisk(descriptor) == 0 || errno == EINVAL || errno == ENOTSUP else {
      throw StoreError(errno, cannot: "write the folder", path)
    }
  }

  private func write(_ bytes: [UInt8], to file: Int32, _ name: String) throws(StoreError) {
    try willPerform(.write(descriptor: file, bytes: bytes[...]), "write", name)
    var start = 0
    while start < bytes.count {
      let count = bytes[start...].withUnsafeBytes {
        Foundation.write(file, $0.baseAddress, $0.count)
      }
      if count >= 0 {
        start += count
      } else if errno != EINTR {
        throw StoreError(errno, cannot: "write", path(of: name))
      }
    }
  }

  private func sync(_ file: Int32, _ name: String) throws(StoreError) {
    try willPerform(.sync(name: name), "write", name)
    guard writeToDisk(file) == 0 else { throw StoreError(errno, cannot: "write", path(of: name)) }
  }

  private func willPerform(
    _ step: FileStep, _ operation: String, _ name: String
  ) throws(StoreError) {
    if let number = hook?(step), number != 0 {
      throw StoreError(number, cannot: operation, path(of: name))
    }
  }
}

extension Folder {
  /// An exclusive lock that lasts as long as this object lives. The system releases it when the
  /// process ends.
  final class Lock: Sendable {
    private let descriptor: Int32
    /// The lock file, which is removed with the lock.
    private let file: (folder: Folder, name: String)?

    /// Locks a folder.
    ///
    /// - Returns: The lock, or `nil` if another store has it.
    init?(_ folder: Folder) throws(StoreError) {
      let opened = openat(folder.descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
      guard opened >= 0 else { throw StoreError(errno, cannot: "lock", folder.path) }
      guard try Self.lock(opened, folder.path) else { return nil }
      descriptor = opened
      file = nil
    }

    /// Creates a file and locks it. The saved file itself cannot be locked, because each save replaces it.
    ///
    /// - Returns: The lock, or `nil` if another store has it.
    init?(_ name: String, in folder: Folder) throws(StoreError) {
      while true {
        let file = openat(
          folder.descriptor, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw StoreError(errno, cannot: "lock", folder.path(of: name)) }
        guard try Self.lock(file, folder.path(of: name)) else { return nil }
        // The previous owner may have removed the name between `openat` and `flock`.
        var (mine, named) = (stat(), stat())
        if fstat(file, &mine) == 0,
          fstatat(folder.descriptor, name, &named, AT_SYMLINK_NOFOLLOW) == 0,
          FileIdentity(mine) == FileIdentity(named)
        {
          descriptor = file
          self.file = (folder, name)
          return
        }
        close(file)
      }
    }

    deinit {
      // Remove the file before unlocking it. Later, it may be the lock file of another store.
      if let file { unlinkat(file.folder.descriptor, file.name, 0) }
      close(descriptor)
    }

    /// Locks an open file. If this fails or another store has the lock, it closes the file.
    private static func lock(_ descriptor: Int32, _ path: String) throws(StoreError) -> Bool {
      while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
        let number = errno
        if number == EINTR { continue }
        close(descriptor)
        if number == EWOULDBLOCK { return false }
        throw StoreError(number, cannot: "lock", path)
      }
      return true
    }
  }
}

extension Folder.Status {
  fileprivate init(_ found: stat) {
    self.init(
      identity: FileIdentity(found), isRegular: found.st_mode & S_IFMT == S_IFREG,
      size: Int(found.st_size),
      linkCount: Int(found.st_nlink), permissions: found.st_mode & 0o7777, owner: found.st_uid,
      group: found.st_gid)
  }
}

/// Follows the symbolic links at the end of a path.
///
/// - Returns: The folder and the name of the final target. The target need not exist.
func resolveFilePath(
  _ path: ByteString
) throws(StoreError) -> (folder: ByteString, name: String) {
  guard !path.bytes.contains(0), let last = path.bytes.last, last != UInt8(ascii: "/") else {
    throw StoreError(
      .missing, "this is not the path of a file", path: path.description,
      help: "use a path that is not empty, does not end in a slash and has no null character")
  }
  var path = path
  // No system follows more links than this.
  for _ in 0..<64 {
    guard let name = path.pathNames.last, name != ".", name != ".." else { break }
    let folder = path.parentDirectory
    guard let target = path.linkTarget else {
      guard let name = name.string else {
        throw StoreError(
          .missing, "the name of the file is not UTF-8", path: path.description,
          help: "use another name")
      }
      return (folder, name)
    }
    path = target.isAbsolutePath ? target : folder.appending(name: target)
  }
  throw StoreError(
    .notAFile, "the path does not lead to a file", path: path.description,
    help: "use the path of a file; symbolic links must not form a cycle")
}

/// A queue for work that waits for a disk. It keeps such work off the threads that tasks share.
struct WorkQueue: Sendable {
  private let queue: DispatchQueue

  /// Creates a queue.
  ///
  /// - Parameters:
  ///   - label: The name of the queue for debugging.
  ///   - isSerial: A Boolean value that indicates whether the queue does one piece of work at a time.
  init(_ label: String, isSerial: Bool) {
    queue = DispatchQueue(label: label, attributes: isSerial ? [] : .concurrent)
  }

  func run<Result: Sendable>(
    _ body: @escaping @Sendable () throws -> Result
  ) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
      queue.async { continuation.resume(with: Swift.Result { try body() }) }
    }
  }
}
