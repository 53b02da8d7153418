import Foundation
import TestSupport
import TestTags
import Testing

@Suite(.tags(.system)) struct SwapDemoCourseTests {
  private static let expected = """
    initial, array: 6 rows: Apples 4, Bread 9, Coffee 14, Honey 19, Lemons 7, Rice 12
    array edited: 1 updated (Coffee 14 -> 9), 1 moved (Rice from 6 to 1); 6 rows stay
    swapped to JSON file: 3 updated (Bread 9 -> 11, Coffee 9 -> 14, Rice 12 -> 14), \
    2 moved (Bread from 3 to 1, Rice from 1 to 6), 1 inserted (Tea at 4), 1 deleted (Honey); \
    5 rows stay
    JSON file edited: 1 inserted (Salt at 2), 1 deleted (Lemons); 5 rows stay
    array edited while not shown: no event
    swapped to SQLite database: 2 updated (Coffee 14 -> 2, Tea 17 -> 1), \
    1 moved (Coffee from 4 to 1), 3 inserted (Lemons at 4, Honey at 5, Olives at 7), \
    2 deleted (Bread, Rice); 4 rows stay
    SQLite database edited: 1 updated (Coffee 2 -> 3), 1 moved (Coffee from 1 to 7); 7 rows stay
    SQLite database edited: 1 inserted (Walnuts at 1); 7 rows stay
    swapped to array: 2 updated (Apples 4 -> 1, Coffee 3 -> 9), 1 moved (Coffee from 8 to 4), \
    2 inserted (Rice at 1, Bread at 3), 5 deleted (Walnuts, Salt, Honey, Tea, Olives); 3 rows stay
    swapped to array: the contents are equal, no event
    swap to an empty list refused: 5 of 5 elements would be deleted; the limit is 75 percent
    rejected: no event
    preview of JSON file: 4 updated (Bread 9 -> 11, Apples 1 -> 4, Coffee 9 -> 14, \
    Rice 12 -> 14), 2 moved (Apples from 2 to 3, Rice from 1 to 6), \
    2 inserted (Salt at 2, Tea at 5), 1 deleted (Lemons); 4 rows stay
    accepted: 2 inserted, 1 deleted, 4 updated, 2 moved
    at the end: 6 rows: Bread 11, Salt 5, Apples 4, Coffee 14, Tea 17, Rice 14

    """

  @Test func `the demo prints a fixed course if the output is not a terminal`() throws {
    for _ in 0..<5 {
      let directory = try TemporaryDirectory()
      let output = Pipe()
      let program = try Program(
        "SwapDemo", input: .nullDevice, output: output.fileHandleForWriting,
        directory: directory.path)
      try output.fileHandleForWriting.close()
      let text = try output.fileHandleForReading.readToEnd() ?? Data()
      #expect(String(decoding: text, as: UTF8.self) == SwapDemoCourseTests.expected)
      #expect(try program.waitForEnd() == 0)
      #expect(try directory.names.isEmpty)
    }
  }

  @Test func `a closed output ends the demo without an error`() throws {
    let directory = try TemporaryDirectory()
    let output = Pipe()
    try output.fileHandleForReading.close()
    let program = try Program(
      "SwapDemo", input: .nullDevice, output: output.fileHandleForWriting,
      directory: directory.path)
    #expect(try program.waitForEnd() == 0)
    #expect(try directory.names.isEmpty)
  }

  @Test func `the course is printed on a terminal on request`() throws {
    let directory = try TemporaryDirectory()
    let terminal = try PseudoTerminal(rows: 24, columns: 80)
    let program = try Program(
      "SwapDemo", ["--course"], terminal: terminal, directory: directory.path)
    try terminal.wait(for: "at the end: 6 rows")
    #expect(try program.waitForEnd() == 0)
    #expect(!terminal.text.contains("\u{1B}"))
  }

  @Test func `an unknown argument is rejected`() throws {
    let directory = try TemporaryDirectory()
    let program = try Program(
      "SwapDemo", ["--cours"], input: .nullDevice, output: .nullDevice,
      directory: directory.path)
    #expect(try program.waitForEnd() == 2)
  }
}

extension TemporaryDirectory {
  /// The names of the files in the directory.
  var names: [String] {
    get throws { try FileManager.default.contentsOfDirectory(atPath: path) }
  }
}
