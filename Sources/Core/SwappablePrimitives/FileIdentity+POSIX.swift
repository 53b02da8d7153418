#if canImport(Darwin)
  package import Darwin
#else
  package import Glibc
#endif

/// The identity of a file, whatever path leads to it.
///
/// A path leads to another identity if another file takes its place.
package struct FileIdentity: Sendable, Hashable {
  package var device: UInt64
  package var inode: UInt64

  package init(device: UInt64, inode: UInt64) {
    self.device = device
    self.inode = inode
  }

  /// Creates the identity of the file that a status describes.
  package init(_ status: stat) {
    device = UInt64(truncatingIfNeeded: status.st_dev)
    inode = UInt64(status.st_ino)
  }
}
