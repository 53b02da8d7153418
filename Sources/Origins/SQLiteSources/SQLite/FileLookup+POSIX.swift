#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

import SwappablePrimitives

/// The result of looking up a path without opening the file.
///
/// A database is never opened to look at it: closing any descriptor of a database would release all locks
/// that the process holds on it.
enum FileLookup: Sendable, Hashable {
  case missing
  case directory
  case file(FileIdentity)
  case unreachable(reason: String)

  /// Looks up a path and follows symbolic links.
  init(_ path: ByteString) {
    var status = stat()
    guard path.withCString({ stat($0, &status) }) == 0 else {
      let code = errno
      self =
        code == ENOENT || code == ENOTDIR
        ? .missing : .unreachable(reason: String(cString: strerror(code)))
      return
    }
    switch status.st_mode & S_IFMT {
    case S_IFREG: self = .file(FileIdentity(status))
    case S_IFDIR: self = .directory
    // SQLite would wait forever for a writer of the pipe.
    default: self = .unreachable(reason: "it is a pipe, socket or device")
    }
  }
}

extension DatabaseWatch {
  #if canImport(Darwin)
    /// The suffixes of the files to watch.
    ///
    /// The database itself is not watched, because a watch opens the file. A commit writes one of these
    /// two files, which SQLite never locks.
    static let watchedSuffixes: [ByteString] = ["-wal", "-journal"]
  #else
    static let watchedSuffixes: [ByteString] = ["", "-wal", "-journal"]
  #endif
}

/// Returns a Boolean value that indicates whether two C strings are equal.
func areEqual(_ left: UnsafePointer<CChar>, _ right: UnsafePointer<CChar>) -> Bool {
  strcmp(left, right) == 0
}

/// Returns the address of a C function, if the libraries of this process contain it.
func addressOfFunction(_ name: String) -> UnsafeMutableRawPointer? {
  // The handle of the program itself includes all linked libraries and needs no closing.
  dlsym(dlopen(nil, RTLD_NOW), name)
}
