import DataSourceTesting
import FileWatching
import TestSupport
import TestTags
import Testing

@testable import FileSources

@Suite struct JSONDocumentTests {
  private func document(_ text: String, key: String? = nil) throws -> JSONDocument {
    try JSONDocument(Array(text.utf8), key: key)
  }

  @Test(arguments: [
    ("[1,2,3]", "[1,5,3]", 1), ("[1,2]", "[1,2,3]", 1), ("[1,12]", "[1,1]", 1),
    ("[1,2,3]", "[2,3]", 1), ("[]", "[1]", 1), ("[1]", "[]", 0), ("[1,1,1]", "[1,1,1,1]", 1),
    ("[1,1,1,1]", "[1,1]", 1), (" [1, 2]", "[1, 2]", 2), ("\u{FEFF}[1,2]", "\u{FEFF}[1,3]", 1),
    ("[1,[2,\"]\"],3]", "[1,[2,\"]\",0],3]", 1), ("[\"a\",\"b\"]", "[\"a,\",\"b\"]", 1),
  ])
  func `an edit scans only changed elements`(old: String, new: String, atMost count: Int) throws {
    let before = try document(old)
    let bytes = Array(new.utf8)
    for isWhole in [false, true] {
      let edit = try #require(
        try before.edit(for: .init(from: before.bytes, to: bytes, isWhole: isWhole)))
      #expect(edit.origins.count { $0 < 0 } <= count)
      var after = before
      after.apply(edit)
      #expect(after.bytes == bytes)
      #expect(try after.spans == document(new).spans)
    }
  }

  @Test(.reaches("removal", "replacement", "insertion", "edit"))
  func `a random version reads the same as a new document`() throws {
    let seed = TestRun.seed ?? .random(in: 0 ... .max)
    var random = SeededGenerator(seed: seed)
    let values = [
      "1", "12", "\"a\"", "\"]\"", "[1,2]", "[]", "{\"id\":1}", "{ \"id\" : \"]\" }", "null",
      "\"\\\\\"", "\"\\\"\"",
    ]
    var texts: [String] = []
    var previous = try document("[]")
    var read = 0
    for _ in 0..<5_000 {
      for _ in 0..<Int.random(in: 0..<3, using: &random) {
        let value = values.randomElement(using: &random) ?? "1"
        let index = Int.random(in: 0...texts.count, using: &random)
        switch Int.random(in: 0..<3, using: &random) {
        case 0 where index < texts.count:
          texts.remove(at: index)
          Coverage.note("removal")
        case 1 where index < texts.count:
          texts[index] = value
          Coverage.note("replacement")
        case _ where texts.count < 40:
          texts.insert(value, at: index)
          Coverage.note("insertion")
        default: break
        }
      }
      let separator = random.next() % 10 == 0 ? ",\n " : ","
      let bytes = Array(("[" + texts.joined(separator: separator) + "]").utf8)
      let isWhole = Bool.random(using: &random)
      let fresh = try JSONDocument(bytes, key: nil)
      if let edit = try previous.edit(
        for: .init(from: previous.bytes, to: bytes, isWhole: isWhole))
      {
        for (span, origin) in zip(edit.spans, edit.origins) where origin >= 0 {
          #expect(edit.elements.contains(origin), "seed \(seed)")
          try #require(
            edit.text[span] == previous.bytes[previous.spans[origin]], "seed \(seed)")
        }
        Coverage.note("edit")
        read += edit.origins.count { $0 < 0 }
        previous.apply(edit)
      }
      try #require(previous.bytes == bytes, "seed \(seed)")
      try #require(previous.spans == fresh.spans, "seed \(seed)")
    }
    // About one element is scanned for each version.
    #expect(read < 10_000, "seed \(seed)")
  }

  @Test func `moved elements are found`() throws {
    let seed = TestRun.seed ?? .random(in: 0 ... .max)
    var random = SeededGenerator(seed: seed)
    let texts = (0..<2_000).map { "{\"id\":\($0)}" }
    let old = try document("[" + texts.joined(separator: ", ") + "]")
    var versions = [texts.shuffled(using: &random), texts.reversed()]
    versions.append(Array(texts[700...] + texts[..<700]))
    versions.append(Array(texts[..<300] + texts[900..<1_000] + texts[1_300...]))
    versions.append(texts[..<50] + (0..<300).map { "\($0)" } + texts[100...])
    for version in versions {
      let bytes = Array(("[" + version.joined(separator: ", ") + "]").utf8)
      let edit = try #require(
        try old.edit(for: .init(from: old.bytes, to: bytes, isWhole: true)))
      #expect(edit.origins.count { $0 < 0 } <= 300, "seed \(seed)")
      #expect(edit.spans == (try JSONDocument(bytes, key: nil)).spans, "seed \(seed)")
    }
  }

  @Test func `a broken version is refused like a new document`() throws {
    let old = try document(#"[{"id":1}, {"id":2}, {"id":3}, {"id":4}]"#, key: "id")
    let bytes = old.bytes
    for index in bytes.indices {
      for byte in "[]{},:\"1 x\u{7}".utf8 {
        var changed = bytes
        changed[index] = byte
        for candidate in [changed, Array(bytes[..<index]), Array(bytes[index...])] {
          let fresh = Result { () throws(JSONElement.ParsingError) in
            let document = try JSONDocument(candidate, key: "id")
            return try JSONElement.elements(ofArray: document.bytes, key: "id")
          }
          for isWhole in [false, true] {
            let next = Result { () throws(JSONElement.ParsingError) in
              let next = try old.next(candidate, isWhole: isWhole)
              return try JSONElement.elements(ofArray: next.bytes, key: "id")
            }
            #expect(next == fresh, "\(String(decoding: candidate, as: UTF8.self))")
          }
        }
      }
    }
  }

  @Test func `the first error is reported`() throws {
    let error = #expect(throws: JSONElement.ParsingError.self) {
      try document(#"[{"id":1}, {}, {"id":3}, x]"#, key: "id")
    }
    #expect(error?.code == .missingKey)
    #expect(error?.elementOffset == 1)
    #expect(error?.position == JSONElement.ParsingError.Position(line: 1, column: 12))
  }
}
