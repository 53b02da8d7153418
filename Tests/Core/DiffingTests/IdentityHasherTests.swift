import Diffing
import Testing

@Suite("The hash of an identity")
struct IdentityHasherTests {
  private let hasher = IdentityHasher()

  @Test func `strings that are canonically equal to ASCII have equal hashes`() {
    let ascii = Dictionary(
      uniqueKeysWithValues: (0..<128).map { (String(Unicode.Scalar(UInt8($0))), $0) })
    var found: [Unicode.Scalar] = []
    for value in UInt32(128)...0x10FFFF {
      guard let scalar = Unicode.Scalar(value), ascii[String(scalar)] != nil else { continue }
      found.append(scalar)
    }
    #expect(found == ["\u{37E}", "\u{1FEF}", "\u{212A}"])
    #expect(hasher.hash(string: "5 \u{212A}") == hasher.hash(string: "5 K"))
    #expect(hasher.hash(string: "\u{37E}\u{1FEF}") == hasher.hash(string: ";`"))
    #expect(hasher.hash(string: "\u{212A}é") == hasher.hash(string: "Ke\u{301}"))
    // Many pairs with the kelvin sign, so the hash table is used.
    let old = (0..<100).map { "\($0) \u{212A}" }
    let change = Changeset(
      from: old, to: old.reversed().map { $0.replacing("\u{212A}", with: "K") })
    #expect(change.deletions.isEmpty && change.insertions.isEmpty && change.updates.isEmpty)
  }

  @Test func `hashes differ with each byte and with the length`() {
    for count in 0..<70 {
      let text = String(repeating: "a", count: count)
      #expect(hasher.hash(string: text) != hasher.hash(string: text + "\0"))
      for place in 0..<count {
        var bytes = Array(text.utf8)
        bytes[place] = 98
        #expect(
          hasher.hash(string: text) != hasher.hash(string: String(decoding: bytes, as: UTF8.self)))
      }
    }
    let numbers = Set(
      (0..<100_000).map { number in withUnsafeBytes(of: number) { hasher.fold($0, from: 0) } })
    #expect(numbers.count == 100_000)
  }
}
