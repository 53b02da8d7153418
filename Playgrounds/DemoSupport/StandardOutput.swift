import Foundation

/// The standard output, line by line.
package enum StandardOutput {
  /// Writes a line at once.
  ///
  /// - Throws: `POSIXError` where it cannot be written.
  package static func write(_ line: String) throws {
    guard puts(line) >= 0, fflush(nil) == 0 else {
      throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
    }
  }
}
