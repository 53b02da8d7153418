import DataSourceTesting
import Diffing
import Foundation
import SynchronizerStores
import Testing

@Suite struct ExactStringTests {
  @Test func `texts are compared by their bytes`() {
    let (one, two): (ExactString, ExactString) = ("\u{E9}", "e\u{301}")
    #expect(one.string == two.string)
    #expect(one != two)
    #expect(Set([one, two, "\u{E9}"]).count == 2)
    #expect(one.differenceIdentifier != two.differenceIdentifier)
    #expect(ExactString("") == "" && ExactString("a\0") != "a")
  }

  @Test func `texts are ordered by their bytes`() {
    let sorted: [ExactString] = ["", "\0", "A", "B", "a", "e\u{301}", "\u{E9}", "\u{FFFD}", "😀"]
    for (offset, one) in sorted.enumerated() {
      for (otherOffset, other) in sorted.enumerated() {
        #expect((one < other) == (offset < otherOffset))
      }
    }
  }

  @Test func `texts are coded as plain text`() throws {
    let texts: [ExactString] = ["", "a\u{301}", "\u{E1}", "\0\n\"\\", "👨‍👩‍👧"]
    let data = try JSONEncoder().encode(texts)
    #expect(try JSONDecoder().decode([ExactString].self, from: data) == texts)
    #expect(try JSONDecoder().decode([String].self, from: data) == texts.map(\.string))
  }

  @Test func `a native and a bridged text are equal`() {
    let text = String(repeating: "é", count: 100)
    let slice = ExactString(String(("x" + text).dropFirst()))
    #expect(slice == ExactString(text))
    #expect(slice.hashValue == ExactString(text).hashValue)
  }
}
