import Diffing
import FileSources
import Foundation
import Testing

/// Foundation's values are elements as they are.
@Suite struct FoundationConformanceTests {
  private func check<Element: Differentiable>(_ one: Element, _ other: Element) {
    let change = Changeset(from: [one, other], to: [other])
    #expect(change == Changeset(deletions: [0]))
  }

  @Test func valuesAreTheirOwnIdentity() throws {
    check(UUID(), UUID())
    check(try #require(URL(string: "https://example.org/a")), URL(filePath: "/b"))
    check(Date(timeIntervalSince1970: 1), Date(timeIntervalSince1970: 2))
    check(Data([1, 2]), Data([1]))
    check(Decimal(1), Decimal(2))
  }

  @Test func aUUIDIsToldByItsBytes() {
    #expect(UUID.hasBitwiseIdentity)
    #expect(!URL.hasBitwiseIdentity)
  }
}
