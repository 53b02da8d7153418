import Foundation
import TestSupport
import Testing

/// Rules for all pages of the documentation.
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

  @Test func `a test compares the code of each page with compiled code`() throws {
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

  @Test func `the first page lists each guide`() throws {
    let first = try #require(pages["Swappable"]).lines
    for (name, page) in pages where name != "Swappable" && !name.contains("/") {
      let title = page.lines[0].dropFirst("# ".count)
      #expect(first.contains("- [\(title)](\(name).md)"), "\(name)")
    }
  }

  /// `.ci/links.swift` checks the links.
  @Test func `each guide is at most two clicks from the README`() throws {
    let readme = try Guide("README", in: ".").lines.joined(separator: "\n")
    var reached = Set(readme.matches(of: /Swappable\.docc\/(\w+)\.md/).map { String($0.1) })
    for page in reached.compactMap({ pages[$0] }) {
      let links = page.lines.joined(separator: "\n").matches(of: /\]\((\w+)\.md[#)]/)
      reached.formUnion(links.map { String($0.1) })
    }
    let guides = pages.keys.filter { $0 != "Swappable" && !$0.contains("/") }
    #expect(guides.filter { !reached.contains($0) } == [])
  }
}
