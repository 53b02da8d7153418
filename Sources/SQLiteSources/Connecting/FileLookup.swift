import SwappablePrimitives

/// The result of looking up a path without opening the file.
///
/// Closing any descriptor of a database would release all locks that the process holds on it.
enum FileLookup: Sendable, Hashable {
  case missing
  case directory
  case file(FileIdentity)
  case unreachable(reason: String)
}
