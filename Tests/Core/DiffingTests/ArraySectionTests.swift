import Diffing
import Foundation
import Testing

@Suite("A ready-made section")
struct ArraySectionTests {
  @Test func `an array section has the identity and the content of its model`() {
    let fruit = section("1", "2 3")
    #expect(fruit.differenceIdentifier == 1)
    #expect(fruit.isContentEqual(to: section("1", "4")))
    #expect(!fruit.isContentEqual(to: section("1'", "2 3")))
    #expect(fruit != section("1", "4"))
    #expect(Section(source: fruit, elements: items("4")) == section("1", "4"))
    #expect("\(fruit)" == "1: [2, 3]")
  }

  @Test func `an array section has the conformances of its parts`() throws {
    let sections = [
      ArraySection(model: "a", elements: [1, 2]), ArraySection(model: "b", elements: []),
    ]
    #expect(Set(sections + sections).count == 2)
    let data = try JSONEncoder().encode(sections)
    #expect(try JSONDecoder().decode([ArraySection<String, Int>].self, from: data) == sections)
    let sendable: any Sendable = sections
    #expect(sendable is [ArraySection<String, Int>])
  }

  @Test func `an array section whose model is a NaN equals itself`() {
    let old = [ArraySection(model: Double.nan, elements: [Double.nan])]
    let new = [ArraySection(model: Double.nan, elements: [Double.nan])]
    #expect(SectionedChangeset(from: old, to: new).isEmpty)
  }
}
