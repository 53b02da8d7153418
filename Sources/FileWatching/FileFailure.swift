/// An operation on a file that the system refused.
package struct FileFailure: Error, Sendable, Hashable, CustomStringConvertible {
  /// What kind of trouble it is, the same on every platform.
  package enum Cause: Sendable, Hashable {
    /// The file, or a directory on the way to it, is not there.
    case missing
    /// The process may not do this.
    case denied
    /// Symbolic links lead in a circle, or through too many of them.
    case loop
    /// There is a directory where a file was expected.
    case isDirectory
    /// It is neither a file nor a directory, but a pipe, socket or device.
    case isSpecial
    /// No more watches or descriptors are to be had.
    case limit
    /// The file changed each time while it was being read.
    case unstable
    case other
  }

  package var cause: Cause
  /// What was attempted, as in "cannot *open*".
  package var operation: String
  package var path: String
  /// The system's number for it; 0 where the system has none.
  package var code: Int32
  /// The system's words for it.
  package var reason: String

  package init(cause: Cause, operation: String, path: String, code: Int32 = 0, reason: String) {
    self.cause = cause
    self.operation = operation
    self.path = path
    self.code = code
    self.reason = reason
  }

  package var description: String { "cannot \(operation) \(path): \(reason)" }
}
