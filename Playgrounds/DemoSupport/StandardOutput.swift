import Foundation
import TerminalViews

/// Functions for standard output.
package enum StandardOutput {
  /// Writes printable lines without buffering.
  ///
  /// - Throws: A `POSIXError` if the lines cannot be written.
  package static func write(_ text: String) throws {
    guard puts(text.printableLines) >= 0, fflush(nil) == 0 else {
      throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
    }
  }
}

/// Functions for standard error.
package enum StandardError {
  /// Writes printable lines.
  package static func write(_ text: String) {
    FileHandle.standardError.write(Data((text.printableLines + "\n").utf8))
  }
}

extension String {
  /// The lines of the text, on which no terminal acts.
  fileprivate var printableLines: String {
    split(separator: "\n", omittingEmptySubsequences: false)
      .map { TerminalText.printable(String($0)) }.joined(separator: "\n")
  }
}
