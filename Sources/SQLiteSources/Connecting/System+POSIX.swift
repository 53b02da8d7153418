#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

import SwappablePrimitives

/// What is asked of the operating system about files, without opening them.
enum System {
  /// What the file system says of `path`, symbolic links followed.
  static func lookUp(_ path: String) -> FileLookup {
    var status = stat()
    guard stat(path, &status) == 0 else {
      let code = errno
      return code == ENOENT || code == ENOTDIR
        ? .missing : .unreachable(reason: String(cString: strerror(code)))
    }
    return switch status.st_mode & S_IFMT {
    case S_IFREG: .file(FileIdentity(status))
    case S_IFDIR: .directory
    // SQLite would wait for ever for somebody to write to a pipe.
    default: .unreachable(reason: "it is a pipe, socket or device")
    }
  }

  /// Whether two C strings are equal.
  static func isSame(_ one: UnsafePointer<CChar>, _ other: UnsafePointer<CChar>) -> Bool {
    strcmp(one, other) == 0
  }

  /// Below 0, 0 or above, as the first difference of two stretches of memory has it.
  static func compare(
    _ one: UnsafeRawPointer, _ other: UnsafeRawPointer, count: Int
  ) -> Int {
    Int(memcmp(one, other, count))
  }

  /// Whether a byte is among others.
  static func contains(_ byte: UInt8, _ bytes: UnsafeRawBufferPointer) -> Bool {
    bytes.baseAddress.map { memchr($0, Int32(byte), bytes.count) != nil } ?? false
  }

  /// The address of the C function `name`, where the libraries of this process have it.
  static func function(_ name: String) -> UnsafeMutableRawPointer? {
    // The handle of the program itself stands for all that it is linked with, and needs no closing.
    dlsym(dlopen(nil, RTLD_NOW), name)
  }
}
