import Foundation
import SwappablePrimitives

/// An open folder, and what is done in it: by names, never by paths, and never through symbolic links.
final class Folder: Sendable {
  /// What is known of a name without opening it.
  struct Status: Sendable, Hashable {
    var isRegular: Bool
    var size: Int
    var linkCount: Int
    var permissions: mode_t
    var owner: uid_t
    var group: gid_t
  }

  /// Its absolute path, without symbolic links.
  let path: String
  private let descriptor: Int32
  private let hook: FileHook?

  /// Opens a folder that is there.
  init(path: String, hook: FileHook?) throws(StoreError) {
    descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw StoreError(errno, cannot: "open the folder", path) }
    self.hook = hook
    var resolved = path
    if let real = realpath(path, nil) {
      resolved = String(cString: real)
      free(real)
    }
    self.path = resolved
  }

  deinit { close(descriptor) }

  func path(of name: String) -> String { path == "/" ? "/" + name : path + "/" + name }

  /// The names in it, in no order.
  func names() throws(StoreError) -> [String] {
    do {
      return try FileManager.default.contentsOfDirectory(atPath: path)
    } catch {
      throw StoreError(
        .inputOutput, "cannot list the folder", path: path, help: "check who may read it",
        underlying: error)
    }
  }

  func status(_ name: String) throws(StoreError) -> Status? {
    var found = stat()
    guard fstatat(descriptor, name, &found, AT_SYMLINK_NOFOLLOW) == 0 else {
      if errno == ENOENT { return nil }
      throw StoreError(errno, cannot: "find", path(of: name))
    }
    return Status(found)
  }

  /// All bytes of a plain file; nil where nothing has that name.
  func read(_ name: String) throws(StoreError) -> [UInt8]? {
    // Without waiting: a pipe that nobody writes to would never be opened.
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
        .notAFile, "this is not a plain file", path: path(of: name), help: "remove what is there")
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

  /// Makes a file that was not there and brings it to the disk; nothing is left of it where that fails.
  ///
  /// - Parameter model: A file whose permissions and owner it gets.
  func create(
    _ name: String, _ bytes: some Collection<UInt8>, like model: Status? = nil
  ) throws(StoreError) {
    try willPerform(.create(name: name), "make", name)
    let file = openat(
      descriptor, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o666)
    guard file >= 0 else { throw StoreError(errno, cannot: "make", path(of: name)) }
    defer { close(file) }
    do throws(StoreError) {
      if let model {
        // Only a privileged process may give a file away, and others have no need to.
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

  /// Appends to a file that is there and brings it to the disk. Where that fails, a part may be there.
  func append(_ bytes: [UInt8], to name: String) throws(StoreError) {
    let file = openat(descriptor, name, O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC)
    guard file >= 0 else { throw StoreError(errno, cannot: "open", path(of: name)) }
    defer { close(file) }
    try write(bytes, to: file, name)
    try sync(file, name)
  }

  /// Renames, in place of what has the other name.
  func rename(_ name: String, to other: String) throws(StoreError) {
    try willPerform(.rename(name: name, to: other), "rename \(name) to", other)
    guard renameat(descriptor, name, descriptor, other) == 0 else {
      throw StoreError(errno, cannot: "rename \(name) to", path(of: other))
    }
  }

  /// Removes a name, if it is there; of a symbolic link the link.
  func remove(_ name: String) throws(StoreError) {
    try willPerform(.remove(name: name), "remove", name)
    guard unlinkat(descriptor, name, 0) == 0 || errno == ENOENT else {
      throw StoreError(errno, cannot: "remove", path(of: name))
    }
  }

  /// Brings new, renamed and removed names to the disk.
  func sync() throws(StoreError) {
    if let number = hook?(.syncFolder), number != 0 {
      throw StoreError(number, cannot: "write the folder", path)
    }
    // Some file systems cannot do it, and need not.
    guard fsync(descriptor) == 0 || errno == EINVAL || errno == ENOTSUP else {
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
    guard fsync(file) == 0 else { throw StoreError(errno, cannot: "write", path(of: name)) }
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
  /// Keeps others away for as long as it lives. A process that ends lets go of its locks.
  final class Lock: Sendable {
    private let descriptor: Int32
    /// What is removed with it.
    private let file: (folder: Folder, name: String)?

    /// Locks a folder itself.
    ///
    /// - Returns: nil where somebody else has it.
    init?(_ folder: Folder) throws(StoreError) {
      let opened = openat(folder.descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
      guard opened >= 0 else { throw StoreError(errno, cannot: "lock", folder.path) }
      guard try Self.lock(opened, folder.path) else { return nil }
      descriptor = opened
      file = nil
    }

    /// Makes a file and locks it, which lasts longer than one that is replaced.
    ///
    /// - Returns: nil where somebody else has it.
    init?(_ name: String, in folder: Folder) throws(StoreError) {
      while true {
        let file = openat(
          folder.descriptor, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw StoreError(errno, cannot: "lock", folder.path(of: name)) }
        guard try Self.lock(file, folder.path(of: name)) else { return nil }
        // Whoever had it before may have removed the name between our opening and locking.
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
      // While it is still locked, or another one's file would be removed.
      if let file { unlinkat(file.folder.descriptor, file.name, 0) }
      close(descriptor)
    }

    /// Locks an open file; closes it where that fails, or somebody else has it.
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
      isRegular: found.st_mode & S_IFMT == S_IFREG, size: Int(found.st_size),
      linkCount: Int(found.st_nlink), permissions: found.st_mode & 0o7777, owner: found.st_uid,
      group: found.st_gid)
  }
}
