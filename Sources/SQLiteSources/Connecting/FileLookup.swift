/// Which file a path led to: it changes where another file takes the path.
struct FileIdentity: Sendable, Hashable {
  var device: UInt64
  var inode: UInt64
}

/// What stands at a path. It is found without opening: closing any descriptor of a database would
/// drop the locks that the whole process has on it.
enum FileLookup: Sendable, Hashable {
  case missing
  case directory
  case file(FileIdentity)
  case unreachable(reason: String)
}
