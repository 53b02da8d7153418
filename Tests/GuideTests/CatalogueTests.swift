import Foundation
import TestSupport
import Testing

/// What holds for all pages of the documentation.
@Suite struct CatalogueTests {
  private let catalogue: URL
  /// The pages, by their names.
  private let pages: [String: Guide]

  init() throws {
    catalogue = try Guide.package().appendingPathComponent("Sources/Swappable/Swappable.docc")
    let files = try FileManager.default.subpathsOfDirectory(atPath: catalogue.path)
    let names = files.filter { $0.hasSuffix(".md") }.map { String($0.dropLast(3)) }
    pages = try Dictionary(uniqueKeysWithValues: names.map { ($0, try Guide($0)) })
  }

  /// Such a test compares the code with what is compiled.
  @Test func eachPageWithCodeIsNamedByATest() throws {
    let tests = try Guide.package().appendingPathComponent("Tests")
    let files = try FileManager.default.subpathsOfDirectory(atPath: tests.path)
    let guideTests = try files.filter { $0.hasSuffix(".swift") && !$0.contains(".build/") }
      .map { try String(contentsOf: tests.appendingPathComponent($0), encoding: .utf8) }
      .filter { $0.contains("(missingIn: ") }
    #expect(pages.count > 20)
    for (name, page) in pages where !page.code.isEmpty {
      #expect(guideTests.contains { $0.contains("\"\(name)\"") }, "\(name).md has code")
    }
  }

  @Test func eachGuideIsListedOnTheFirstPage() throws {
    let first = try #require(pages["Swappable"]).lines
    for name in pages.keys where name != "Swappable" && !name.contains("/") {
      #expect(first.contains("- <doc:\(name)>"), "\(name)")
    }
  }

  /// The documentation's compiler takes a link to a file as it stands, and says nothing where it leads nowhere.
  @Test func linksBetweenPagesAreThoseThatAreChecked() {
    for (name, page) in pages {
      let text = page.lines.joined(separator: "\n")
      let links = text.replacing(/`[^`\n]*`/, with: "").matches(of: /\]\(([^)]*)\)/).map(\.1)
      #expect(links.allSatisfy { $0.hasPrefix("https://") || $0.hasPrefix("doc:") }, "\(name)")
    }
  }
}
