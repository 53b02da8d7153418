import Diffing
import FileSources
import Foundation
import Testing

/// Values of Foundation are elements of collections.
@Suite struct FoundationConformanceTests {
  private func check<Element: Differentiable>(_ one: Element, _ other: Element) {
    let change = Changeset(from: [one, other], to: [other])
    #expect(change == Changeset(deletions: [0]))
  }

  @Test func `values of Foundation are their own identity`() throws {
    check(UUID(), UUID())
    check(try #require(URL(string: "https://example.org/a")), URL(filePath: "/b"))
    check(Date(timeIntervalSince1970: 1), Date(timeIntervalSince1970: 2))
    check(Data([1, 2]), Data([1]))
    check(Decimal(1), Decimal(2))
  }

  @Test func `a UUID is identified by its bytes`() {
    #expect(UUID.hasBitwiseIdentity)
    #expect(!URL.hasBitwiseIdentity)
  }
}
