import Foundation
import TestSupport
import Testing

/// The page of the event contract names tests for each of its rules, and they exist. Another page has a row for each rule.
@Suite struct EventContractTests {
  private let lines: [String]

  init() throws { lines = try Guide("EventContract").lines }

  private var rules: [String] {
    lines.compactMap { $0.firstMatch(of: /^- \*\*([A-Z][0-9]+)\*\*/).map { String($0.1) } }
  }

  /// The rules that the page lists as open.
  private var exceptions: [String] {
    lines.filter { $0.hasPrefix("Not there yet") }
      .flatMap { $0.matches(of: /[A-Z][0-9]+/).map { String($0.output) } }
  }

  private var tests: [(rule: String, tests: [String])] {
    lines.compactMap { line in
      guard let row = line.firstMatch(of: /^\| ([A-Z][0-9]+) \| (.+) \|$/) else { return nil }
      let tests = row.2.matches(of: /`([A-Za-z0-9_]+\.[^`]+)`/).map { String($0.1) }
      return (String(row.1), tests)
    }
  }

  @Test func `each rule has tests`() {
    #expect(rules.count > 30)
    #expect(Set(tests.map(\.rule)).union(exceptions) == Set(rules))
    #expect(Set(tests.map(\.rule)).isDisjoint(with: exceptions))
    #expect(tests.filter { $0.tests.isEmpty }.map(\.rule) == [])
  }

  @Test func `the tests that the page names exist`() throws {
    let written = try writtenTests()
    let named = tests.flatMap { row in row.tests.map { (row.rule, $0) } }
    #expect(named.filter { !written.contains($0.1) }.map { "\($0.0): \($0.1)" } == [])
  }

  @Test func `the page about what the contract leaves open has a row for each rule`() throws {
    let rows = try Guide("WhatTheContractLeavesOpen").lines.compactMap { line in
      line.firstMatch(of: /^\| ([A-Z][0-9]+) \| .+ \|$/).map { String($0.1) }
    }
    #expect(rows == rules)
  }

  @Test func `the suites that the page about testing names exist`() throws {
    let suites = Set(try writtenTests().compactMap { $0.split(separator: ".").first })
    let named = try Guide("HowThisIsTested").lines.flatMap { line in
      line.matches(of: /`(\w+(?:Tests|Scenarios))`/).map(\.1)
    }
    #expect(named.count > 20)
    #expect(named.filter { !suites.contains($0) } == [])
  }

  @Test func `rules are numbered without gaps`() {
    let numbers = Dictionary(grouping: rules, by: \.first).mapValues { rules in
      rules.compactMap { Int($0.dropFirst()) }
    }
    for (_, numbers) in numbers { #expect(numbers == Array(1...numbers.count)) }
  }

  /// All tests of the package, as `Suite.test`.
  private func writtenTests() throws -> Set<String> {
    let folder = try Guide.package().appendingPathComponent("Tests")
      .resolvingSymlinksInPath()
    let files = try FileManager.default.subpathsOfDirectory(atPath: folder.path)
    var found: Set<String> = []
    for file in files where file.hasSuffix(".swift") && !file.contains(".build/") {
      let text = try String(contentsOf: folder.appendingPathComponent(file), encoding: .utf8)
      var suite = ""
      var isTest = false
      for line in text.split(separator: "\n") {
        if line.first != " ", let name = name(in: line, after: ["struct", "class", "extension"]) {
          suite = name
        }
        if line.contains("@Test") { isTest = true }
        if isTest, let name = name(in: line, after: ["func"]) {
          found.insert("\(suite).\(name)")
          isTest = false
        }
      }
    }
    return found
  }

  private func name(in line: Substring, after keywords: Set<Substring>) -> String? {
    let words = line.split(separator: " ")
    guard words.first?.hasPrefix("//") == false,
      let keyword = words.firstIndex(where: keywords.contains), keyword + 1 < words.count
    else { return nil }
    if let raw = line.firstMatch(of: /func `([^`]+)`/) { return String(raw.1) }
    return String(words[keyword + 1].prefix { $0.isLetter || $0.isNumber })
  }
}
