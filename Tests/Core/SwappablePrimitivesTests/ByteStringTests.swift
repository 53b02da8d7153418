import Foundation
import SwappablePrimitives
import Testing

@Suite struct ByteStringTests {
  /// A path with a byte that is not UTF-8.
  private static let broken = ByteString(bytes: Array("caf".utf8) + [0xE9] + Array(".json".utf8))

  @Test func `texts with other bytes differ, also if they are canonically equivalent`() {
    let (one, two): (ByteString, ByteString) = ("\u{E9}", "e\u{301}")
    #expect(one.string == two.string)
    #expect(one != two && two < one)
    #expect(Set([one, two, "\u{E9}"]).count == 2)
    #expect("\u{E9}".hasSameBytes(as: "\u{E9}") && !"\u{E9}".hasSameBytes(as: "e\u{301}"))
    // The sign of the unit kelvin is canonically equivalent to an ASCII letter.
    #expect(!"\u{212A}".hasSameBytes(as: "K"))
    #expect("e\u{301}".precedes("\u{E9}") && !"\u{E9}".precedes("e\u{301}"))
  }

  @Test func `a byte that is not UTF-8 is shown in hexadecimal digits`() {
    #expect(Self.broken.string == nil)
    #expect(Self.broken.description == "caf\\xe9.json")
    #expect(ByteString("é\u{1F600}").description == "é\u{1F600}")
    // The first bytes of a scalar without the last one, and a surrogate.
    #expect(ByteString(bytes: [0xF0, 0x9F, 0x98, 0x41]).description == "\\xf0\\x9f\\x98A")
    #expect(ByteString(bytes: [0xED, 0xA0, 0x80]).description == "\\xed\\xa0\\x80")
  }

  @Test func `every text has an encoded form that means the same bytes`() {
    for text in [Self.broken, ByteString(bytes: (0...255).map { $0 }), "é", "e\u{301}", ""] {
      #expect(ByteString(encoded: text.encoded) == text)
    }
  }

  @Test func `a mark is doubled also before a combining character`() {
    #expect(Array("a\"\u{301}b\"".doubling("\"").utf8) == Array("a\"\"\u{301}b\"\"".utf8))
  }

  @Test func `words are separated by white space`() {
    #expect(ByteString(" swap  a b ").firstWord == ("swap", "a b "))
    #expect(ByteString(" a \r").withoutTrailingSpace == " a")
    #expect(ByteString(" \t").firstWord == ("", ""))
    #expect(ByteString("a=b=c").split(at: "=").map { [$0.before, $0.after] } == ["a", "b=c"])
    #expect(ByteString("a").split(at: "=") == nil)
  }

  @Test func `an absolute path stays as it is`() {
    for path: ByteString in ["/", "/tmp/a", "//a", "/\u{301}a"] {
      #expect(path.isAbsolutePath && path.absolutePath == path)
    }
  }

  @Test func `a relative path begins at the working directory`() {
    let directory = ByteString(FileManager.default.currentDirectoryPath)
    for path: ByteString in ["", "a", "a/b", "../a", "~", Self.broken] {
      #expect(!path.isAbsolutePath)
      #expect(path.absolutePath == directory + "/" + path)
    }
  }

  @Test func `a path has names and a parent directory`() {
    #expect(ByteString("/a//b/").pathNames == ["a", "b"])
    #expect(ByteString("/a/b").parentDirectory == "/a")
    #expect(ByteString("/a").parentDirectory == "/")
    #expect(ByteString("a").parentDirectory == ".")
    #expect(ByteString("/").appending(name: "a") == "/a")
    #expect(ByteString("/a").appending(name: "b") == "/a/b")
  }
}
