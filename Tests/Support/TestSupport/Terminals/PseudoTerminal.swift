package import Foundation

/// A terminal for a test, and the output of the program that it controls.
package final class PseudoTerminal {
  package struct Failure: Error, CustomStringConvertible {
    package let description: String
  }

  /// The program's end.
  package let program: FileHandle
  /// The path of the program's end.
  package let path: String
  private let test: FileHandle
  /// All output of the program.
  package private(set) var output: [UInt8] = []
  package private(set) var display: TerminalModel
  /// The first modes of the terminal.
  private var firstModes = ""

  package init(rows: Int, columns: Int) throws {
    // Keep the program's end open, so the modes can be read after the program has ended.
    var (testEnd, programEnd): (Int32, Int32) = (-1, -1)
    guard openpty(&testEnd, &programEnd, nil, nil, nil) == 0 else { throw POSIXError.last }
    test = FileHandle(fileDescriptor: testEnd, closeOnDealloc: true)
    program = FileHandle(fileDescriptor: programEnd, closeOnDealloc: true)
    for file in [test, program] { _ = fcntl(file.fileDescriptor, F_SETFD, FD_CLOEXEC) }
    // `ttyname` has one buffer for all names, and tests run at the same time.
    var name = [CChar](repeating: 0, count: 128)
    let code = ttyname_r(programEnd, &name, name.count)
    guard code == 0 else { throw POSIXError(POSIXErrorCode(rawValue: code) ?? .EIO) }
    path = String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    display = TerminalModel(rows: rows, columns: columns)
    try resize(rows: rows, columns: columns)
    firstModes = try modes
  }

  /// Changes the size of the terminal. The system signals the controlled programs.
  package func resize(rows: Int, columns: Int) throws {
    var size = winsize()
    size.ws_row = numericCast(rows)
    size.ws_col = numericCast(columns)
    guard ioctl(program.fileDescriptor, numericCast(TIOCSWINSZ), &size) == 0 else {
      throw POSIXError.last
    }
    display.resize(rows: rows, columns: columns)
  }

  /// The modes of the terminal, as text that can be compared.
  package var modes: String {
    get throws {
      var modes = termios()
      guard tcgetattr(program.fileDescriptor, &modes) == 0 else { throw POSIXError.last }
      return "\(modes.c_iflag) \(modes.c_oflag) \(modes.c_cflag) \(modes.c_lflag) \(modes.c_cc)"
    }
  }

  /// The differences from the state before a program ran, and the errors in its output.
  package var leftovers: [String] {
    get throws {
      try readRest()
      var leftovers = display.complaints
      if try modes != firstModes { leftovers.append("the terminal's modes") }
      if display.isAlternate { leftovers.append("the alternate screen") }
      if !display.isCursorShown { leftovers.append("a hidden cursor") }
      if !display.wrapsLines { leftovers.append("lines that do not wrap") }
      if display.bracketsPastes { leftovers.append("pastes in brackets") }
      if !display.isPlain { leftovers.append("letters that are not plain") }
      return leftovers
    }
  }

  /// The output of the program, as text.
  package var text: String { String(decoding: output, as: UTF8.self) }

  /// Removes the errors so far.
  package func forgive() { display.forgive() }

  /// Sends keys.
  package func type(_ keys: String) throws {
    try test.write(contentsOf: Data(keys.utf8))
  }

  /// Reads until the program has written `text`, from now on.
  package func wait(for text: String) throws {
    let start = output.count
    let bytes = Array(text.utf8)
    try wait(until: "\"\(text)\" was written") { terminal in
      terminal.output[start...].firstRange(of: bytes) != nil
    }
  }

  /// Reads until the display fulfills a condition.
  package func wait(until expectation: String, _ isFulfilled: (PseudoTerminal) -> Bool) throws {
    let limit = ContinuousClock.now + .seconds(60)
    while !isFulfilled(self) {
      guard ContinuousClock.now < limit else {
        throw Failure(description: "not within a minute: \(expectation)\n" + display.text)
      }
      try read(timeout: 1000)
    }
  }

  /// Reads the output that is available.
  package func readRest() throws {
    while try read(timeout: 0) {}
  }

  @discardableResult
  private func read(timeout: Int32) throws -> Bool {
    var request = pollfd(fd: test.fileDescriptor, events: Int16(POLLIN), revents: 0)
    guard poll(&request, 1, timeout) == 1 else { return false }
    var buffer = [UInt8](repeating: 0, count: 4096)
    let count = Foundation.read(test.fileDescriptor, &buffer, buffer.count)
    guard count > 0 else { throw POSIXError.last }
    output += buffer[..<count]
    display.show(Array(buffer[..<count]))
    return true
  }
}
