import Foundation

/// Functions for standard output.
package enum StandardOutput {
  /// Writes a line without buffering.
  ///
  /// - Throws: A `POSIXError` if the line cannot be written.
  package static func write(_ line: String) throws {
    guard puts(line) >= 0, fflush(nil) == 0 else {
      throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
    }
  }
}
