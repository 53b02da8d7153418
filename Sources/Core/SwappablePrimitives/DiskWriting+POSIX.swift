#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Writes an open file to the disk.
///
/// - Returns: 0, or -1. Then, `errno` is the reason.
package func writeToDisk(_ descriptor: Int32) -> Int32 {
  #if canImport(Darwin)
    // There, `fsync` leaves the bytes in the memory of the disk. Not every file system has the other operation.
    if fcntl(descriptor, F_FULLFSYNC, 0) == 0 { return 0 }
  #endif
  return fsync(descriptor)
}
