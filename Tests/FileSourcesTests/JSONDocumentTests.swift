import Testing

@testable import FileSources

@Suite struct JSONDocumentTests {
  private func document(_ text: String, key: String? = nil) throws -> JSONDocument {
    try JSONDocument(Array(text.utf8), key: key)
  }

  @Test(arguments: [
    ("[1,2,3]", "[1,2,3]", 0, 3), ("[1,2,3]", "[1,5,3]", 1, 1), ("[1,2]", "[1,2,3]", 1, 0),
    ("[1,12]", "[1,1]", 1, 0), ("[1,2,3]", "[2,3]", 0, 2), ("[]", "[1]", 0, 0),
    ("[1]", "[]", 0, 0), ("[1,1,1]", "[1,1,1,1]", 2, 1), ("[1,1,1,1]", "[1,1]", 1, 1),
    (" [1, 2]", "[1, 2]", 0, 2), ("\u{FEFF}[1,2]", "\u{FEFF}[1,3]", 1, 0),
  ])
  func readsOnlyBetweenWhatIsTheSame(old: String, new: String, first: Int, last: Int) throws {
    let next = try JSONDocument(Array(new.utf8), after: document(old))
    #expect(try next.elements == document(new).elements)
    #expect(next.unchanged.first >= min(first, 0))
    // What is kept is a matter of cost; that it never is too much is what counts.
    #expect(next.unchanged.first + next.unchanged.last <= next.elements.count)
    if next.elements.count > 2 { #expect(next.unchanged.first + next.unchanged.last > 0) }
  }

  @Test func randomVersionsReadTheSameAsFromTheStart() throws {
    let seed = UInt64.random(in: 0 ... .max)
    var random = SeededRandom(seed: seed)
    let values = [
      "1", "12", "\"a\"", "\"]\"", "[1,2]", "[]", "{\"id\":1}", "{ \"id\" : \"]\" }", "null",
    ]
    var texts: [String] = []
    var previous = try document("[]")
    var kept = 0
    for _ in 0..<5_000 {
      for _ in 0..<Int.random(in: 0..<3, using: &random) {
        let value = values.randomElement(using: &random) ?? "1"
        let index = Int.random(in: 0...texts.count, using: &random)
        switch Int.random(in: 0..<3, using: &random) {
        case 0 where index < texts.count: texts.remove(at: index)
        case 1 where index < texts.count: texts[index] = value
        default: if texts.count < 12 { texts.insert(value, at: index) }
        }
      }
      let separator = random.next() % 10 == 0 ? ",\n " : ","
      let text = "[" + texts.joined(separator: separator) + "]"
      let bytes = Array(text.utf8)
      let next = try JSONDocument(bytes, after: previous)
      let fresh = try JSONDocument(bytes, key: nil)
      try #require(next.elements.map(\.utf8) == fresh.elements.map(\.utf8), "seed \(seed)")
      for offset in next.elements.indices {
        #expect(next.position(ofElement: offset) == fresh.position(ofElement: offset))
      }
      let (first, last) = next.unchanged
      for offset in 0..<first {
        #expect(next.elements[offset].storage === previous.elements[offset].storage)
      }
      for offset in 1..<(last + 1) where last > 0 {
        #expect(
          next.elements[next.elements.count - offset].storage
            === previous.elements[previous.elements.count - offset].storage)
      }
      kept += first + last
      previous = next
    }
    #expect(kept > 5_000, "seed \(seed)")
  }

  @Test func brokenVersionsAreRefusedAsFromTheStart() throws {
    let old = try document(#"[{"id":1}, {"id":2}, {"id":3}, {"id":4}]"#, key: "id")
    let bytes = old.bytes
    for index in bytes.indices {
      for byte in "[]{},:\"1 x".utf8 {
        var changed = bytes
        changed[index] = byte
        for candidate in [changed, Array(bytes[..<index]), Array(bytes[index...])] {
          let next = Result { () throws(JSONError) in try JSONDocument(candidate, after: old) }
          let fresh = Result { () throws(JSONError) in
            try JSONDocument(candidate, key: "id")
          }
          switch (next, fresh) {
          case (.success(let next), .success(let fresh)):
            #expect(next.elements == fresh.elements)
          case (.failure(let next), .failure(let fresh)):
            #expect(next.code == fresh.code || next.code == .syntax)
          default:
            Issue.record("\(String(decoding: candidate, as: UTF8.self)): \(next), \(fresh)")
          }
        }
      }
    }
  }
}
