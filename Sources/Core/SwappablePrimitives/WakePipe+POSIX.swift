#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A pipe that ends a thread's wait for files. A full or empty pipe blocks neither end.
package final class WakePipe: Sendable {
  package let readEnd: Int32
  package let writeEnd: Int32

  /// Creates a pipe, or returns `nil` if the process cannot open more files. Then, `errno` is the reason.
  package init?() {
    guard let (reader, writer) = Self.makeEnds() else { return nil }
    (readEnd, writeEnd) = (reader, writer)
  }

  /// Creates a pipe whose ends the caller closes.
  package static func makeEnds() -> (reader: Int32, writer: Int32)? {
    var ends: [Int32] = [-1, -1]
    #if canImport(Darwin)
      guard pipe(&ends) == 0 else { return nil }
      for end in ends {
        _ = fcntl(end, F_SETFL, O_NONBLOCK)
        _ = fcntl(end, F_SETFD, FD_CLOEXEC)
      }
    #else
      let pipe2: (@convention(c) (UnsafeMutablePointer<Int32>, Int32) -> Int32)? =
        gnuFunction("pipe2")
      guard pipe2?(&ends, O_NONBLOCK | O_CLOEXEC) == 0 else { return nil }
    #endif
    return (ends[0], ends[1])
  }

  deinit {
    close(readEnd)
    close(writeEnd)
  }

  /// Ends the wait.
  package func wake() {
    var byte: UInt8 = 0
    _ = write(writeEnd, &byte, 1)
  }
}

#if !canImport(Darwin)
  /// Returns a function of glibc that its module in Swift lacks, because it is an extension of GNU.
  package func gnuFunction<Function>(_ name: String) -> Function? {
    unsafeBitCast(dlsym(nil, name), to: Function?.self)
  }
#endif
