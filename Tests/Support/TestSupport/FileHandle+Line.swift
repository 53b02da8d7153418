package import Foundation

extension FileHandle {
  /// Reads a line from another process.
  ///
  /// - Returns: The line without its end, or `nil` if the process has closed its output before the end of the line.
  /// - Throws: `ETIMEDOUT` after five minutes.
  package func readLine() throws -> String? {
    var request = pollfd(fd: fileDescriptor, events: Int16(POLLIN), revents: 0)
    var line: [UInt8] = []
    while true {
      guard poll(&request, 1, 300_000) != 0 else {
        throw POSIXError(.ETIMEDOUT)
      }
      guard let byte = try read(upToCount: 1)?.first else { return nil }
      if byte == UInt8(ascii: "\n") { return String(decoding: line, as: UTF8.self) }
      line.append(byte)
    }
  }
}
