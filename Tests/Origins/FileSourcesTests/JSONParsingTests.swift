import DataSourceTesting
import FileSources
import Foundation
import TestSupport
import TestTags
import Testing

@Suite struct JSONParsingTests {
  struct Refusal: Sendable, CustomTestStringConvertible {
    var text: String
    var code: JSONElement.ParsingError.Code
    var line = 1
    var column: Int
    var element: Int?
    var mentions: String
    var testDescription: String { text }
  }

  static let refusals: [Refusal] = [
    Refusal(text: "", code: .empty, column: 1, mentions: "[]"),
    Refusal(text: " \n ", code: .empty, line: 2, column: 2, mentions: "empty"),
    Refusal(text: #"{"a":1}"#, code: .notAnArray, column: 1, mentions: "an object is at"),
    Refusal(text: "\n 5", code: .notAnArray, line: 2, column: 2, mentions: "a number is at"),
    Refusal(text: "[1,2", code: .truncated, column: 5, mentions: "inside an array"),
    Refusal(text: "[", code: .truncated, column: 2, mentions: "inside an array"),
    Refusal(text: "[1,", code: .truncated, column: 4, mentions: "inside an array"),
    Refusal(text: "[1,{", code: .truncated, column: 5, element: 1, mentions: "inside an object"),
    Refusal(text: "[tru", code: .truncated, column: 5, element: 0, mentions: "true"),
    Refusal(text: "[1,]", code: .syntax, column: 3, mentions: "remove it"),
    Refusal(text: "[1,,2]", code: .syntax, column: 4, element: 1, mentions: "a value"),
    Refusal(text: "[,1]", code: .syntax, column: 2, element: 0, mentions: "a value"),
    Refusal(text: "[1 2]", code: .syntax, column: 4, mentions: "a comma"),
    Refusal(text: "[1] [2]", code: .syntax, column: 5, mentions: "the end of the text"),
    Refusal(text: "[1]x", code: .syntax, column: 4, mentions: "end of the text"),
    Refusal(
      text: "[\n1,\n{\"a\":01}]", code: .syntax, line: 3, column: 6, element: 1,
      mentions: "begins with 0"),
    Refusal(text: "[+1]", code: .syntax, column: 2, element: 0, mentions: "digit"),
    Refusal(text: "[.5]", code: .syntax, column: 2, element: 0, mentions: "digit"),
    Refusal(text: "[1.]", code: .syntax, column: 4, element: 0, mentions: "digit"),
    Refusal(text: "[1e]", code: .syntax, column: 4, element: 0, mentions: "digit"),
    Refusal(text: "[-]", code: .syntax, column: 3, element: 0, mentions: "digit"),
    Refusal(text: "[0x1]", code: .syntax, column: 3, element: 0, mentions: "followed by x"),
    Refusal(text: "[NaN]", code: .syntax, column: 2, element: 0, mentions: "NaN"),
    Refusal(text: "[nulll]", code: .syntax, column: 6, element: 0, mentions: "quotes"),
    Refusal(text: "[yes]", code: .syntax, column: 2, element: 0, mentions: "quotes"),
    Refusal(text: "['a']", code: .syntax, column: 2, element: 0, mentions: "double quotes"),
    Refusal(text: "[{a:1}]", code: .syntax, column: 3, element: 0, mentions: "name"),
    Refusal(text: "[{\"a\" 1}]", code: .syntax, column: 7, element: 0, mentions: "colon"),
    Refusal(text: "[{\"a\":}]", code: .syntax, column: 7, element: 0, mentions: "a value"),
    Refusal(text: "[{\"a\":1,}]", code: .syntax, column: 8, element: 0, mentions: "remove it"),
    Refusal(text: "[{\"a\":1]", code: .syntax, column: 8, element: 0, mentions: "closing }"),
    Refusal(text: "[1}", code: .syntax, column: 3, mentions: "closing ]"),
    Refusal(text: "[// x\n1]", code: .syntax, column: 2, element: 0, mentions: "comments"),
    Refusal(text: "[\"a\nb\"]", code: .syntax, column: 4, element: 0, mentions: "line"),
    Refusal(text: "[\"a\tb\"]", code: .syntax, column: 4, element: 0, mentions: "tab"),
    Refusal(text: "[\"a\u{1}\"]", code: .syntax, column: 4, element: 0, mentions: "control"),
    Refusal(text: "[\"abcdefghijkl", code: .truncated, column: 2, element: 0, mentions: "quote"),
    Refusal(text: #"["\x"]"#, code: .syntax, column: 3, element: 0, mentions: "escape"),
    Refusal(text: #"["\u12G4"]"#, code: .syntax, column: 3, element: 0, mentions: "hexadecimal"),
    Refusal(text: #"["\u12"]"#, code: .syntax, column: 3, element: 0, mentions: "hexadecimal"),
    Refusal(text: #"["\ud83d\u00"]"#, code: .syntax, column: 9, element: 0, mentions: "hexa"),
    Refusal(text: "[\"é€😀\", x]", code: .syntax, column: 9, element: 1, mentions: "quotes"),
    Refusal(
      text: "[\r\n1,\r2,\n\n x]", code: .syntax, line: 5, column: 2, element: 2,
      mentions: "quotes"),
    Refusal(
      text: String(repeating: "[", count: 513), code: .depth, column: 513, element: 0,
      mentions: "512"),
  ]

  @Test(arguments: refusals)
  func `malformed JSON is refused`(_ refusal: Refusal) {
    do {
      let elements = try JSONElement.elements(ofArray: Array(refusal.text.utf8))
      Issue.record("read as \(elements)")
    } catch {
      #expect(error.code == refusal.code)
      #expect(
        error.position
          == JSONElement.ParsingError.Position(line: refusal.line, column: refusal.column))
      #expect(error.elementOffset == refusal.element)
      #expect(error.reason.contains(refusal.mentions), "\(error)")
    }
  }

  @Test(
    arguments: [
      ([0x5B, 0x22, 0xFF, 0x22, 0x5D], 3), ([0x5B, 0x22, 0xC0, 0x80, 0x22, 0x5D], 3),
      ([0x5B, 0x22, 0xED, 0xA0, 0x80, 0x22, 0x5D], 3), ([0x5B, 0x22, 0x80, 0x22, 0x5D], 3),
      ([0x5B, 0x22, 0xF4, 0x90, 0x80, 0x80, 0x22, 0x5D], 3),
      ([0x5B, 0x22, 0xE2, 0x82, 0x22, 0x5D], 3),
      ([0x5B, 0x22, 0x61, 0xC3, 0xA9, 0xE0, 0x9F, 0xBF, 0x22, 0x5D], 5),
    ] as [([UInt8], Int)])
  func `invalid UTF-8 is refused`(bytes: [UInt8], column: Int) {
    let error = #expect(throws: JSONElement.ParsingError.self) {
      try JSONElement.elements(ofArray: bytes)
    }
    #expect(error?.code == .encoding)
    #expect(error?.position == JSONElement.ParsingError.Position(line: 1, column: column))
  }

  @Test func `UTF-16 and UTF-32 are refused`() {
    for bytes in [
      [0xFF, 0xFE, 0x5B, 0x00, 0x5D, 0x00], [0xFE, 0xFF, 0x00, 0x5B, 0x00, 0x5D],
      [0x5B, 0x00, 0x5D, 0x00], [0x00, 0x5B, 0x00, 0x5D], [0x00, 0x00, 0x00, 0x5B],
      [0x5B, 0x00, 0x00, 0x00],
    ] as [[UInt8]] {
      let error = #expect(throws: JSONElement.ParsingError.self) {
        try JSONElement.elements(ofArray: bytes)
      }
      #expect(error?.code == .encoding)
      #expect(error?.reason.contains("save it as UTF-8") == true)
    }
  }

  @Test func `the maximum depth is accepted`() throws {
    let text = String(repeating: "[", count: 512) + String(repeating: "]", count: 512)
    let elements = try JSONElement.elements(ofArray: Array(text.utf8))
    #expect(elements.count == 1)
    #expect(elements[0].hashValue == elements[0].hashValue)
    #expect(elements[0].description == String(text.dropFirst().dropLast()))
  }

  /// On Apple platforms, the stack of a Dispatch thread has half a megabyte.
  @Test(arguments: [("[", "]"), (#"{"a":"#, "}"), (#"[{"id":[0,"#, "]}]")])
  func `the maximum depth fits on a small stack`(opening: String, closing: String) throws {
    let count = 512 / closing.count
    let text =
      String(repeating: opening, count: count) + "1" + String(repeating: closing, count: count)
    let (parsed, done) = (Shared<JSONElement?>(nil), Signpost())
    let thread = Thread {
      parsed.value = try? JSONElement(parsing: text)
      done.open()
    }
    thread.stackSize = 256 << 10
    thread.start()
    done.pass()
    #expect(parsed.value?.description == text)
  }

  @Test func `elements without their key are refused`() {
    func error(_ text: String) -> JSONElement.ParsingError? {
      #expect(throws: JSONElement.ParsingError.self) {
        try JSONElement.elements(ofArray: Array(text.utf8), key: "id")
      }
    }
    #expect(
      error("[{\"id\":1},\n {\"name\":1,\"x\":2}]")?.description
        == "line 2, column 2, element 1: the element has no member \"id\", which is the key; "
        + "its members are name, x")
    #expect(error("[{}]")?.code == .missingKey)
    #expect(error("[5]")?.reason.contains("a number") == true)
    let invalid = error("[{\"id\":{\"id\":1}}]")
    #expect(invalid?.code == .invalidKey)
    #expect(invalid?.reason.contains("an object") == true)
    #expect(error("[{\"x\":{\"id\":1}}]")?.code == .missingKey)
  }

  @Test func `truncation at each byte is an error`() throws {
    let text = #"[{"id":-12.5e+3,"é\ud83d\ude00\u00e9":[true,false,null,"x\n€"]},"12345678901",{}]"#
    let bytes = Array(text.utf8)
    #expect(try JSONElement.elements(ofArray: bytes).count == 3)
    for count in 0..<bytes.count {
      // The copy lets the sanitizer notice a read beyond the end.
      let part = Array(bytes[..<count])
      let error = #expect(throws: JSONElement.ParsingError.self) {
        try JSONElement.elements(ofArray: part)
      }
      #expect(error?.code == (count == 0 ? .empty : .truncated))
    }
  }

  @Test func `any byte at any place is read or refused`() {
    let bytes = Array(#"[{"a":"\u00e9é","b":[1.5e3,true]},null]"#.utf8)
    for index in bytes.indices {
      for byte in UInt8.min...UInt8.max {
        var copy = bytes
        copy[index] = byte
        guard let elements = try? JSONElement.elements(ofArray: copy) else { continue }
        for element in elements {
          #expect((try? JSONElement(parsing: element.utf8)) == element)
        }
      }
    }
  }

  @Test(.reaches("literal", "number", "string", "array", "object"))
  func `random values are unchanged after writing and reading`() throws {
    let seed = TestRun.seed ?? .random(in: 0 ... .max)
    var random = SeededGenerator(seed: seed)
    for _ in 0..<3_000 {
      let value = RandomJSON.make(depth: 4, using: &random)
      let loose = value.text(spaced: true, shuffled: false, using: &random)
      let element = try JSONElement(parsing: loose)
      let compact = value.text(spaced: false, shuffled: false, using: &random)
      #expect(element.description == compact, "seed \(seed)")
      #expect(try JSONElement(parsing: element.utf8).utf8 == element.utf8, "seed \(seed)")
      let shuffled = try JSONElement(
        parsing: value.text(spaced: true, shuffled: true, using: &random))
      #expect(shuffled == element, "seed \(seed)")
      #expect(shuffled.hashValue == element.hashValue, "seed \(seed)")
    }
  }
}
