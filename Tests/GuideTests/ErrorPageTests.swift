import Foundation
import TestSupport
import Testing

/// The page of errors lists exactly the errors that a user can meet.
@Suite struct ErrorPageTests {
  private let page: [String]
  private let sources: [String: String]

  init() throws {
    page = try Guide("Errors").lines
    let folder = try Guide.package().appendingPathComponent("Sources").resolvingSymlinksInPath()
    var sources: [String: String] = [:]
    for file in try FileManager.default.subpathsOfDirectory(atPath: folder.path)
    where file.hasSuffix(".swift") {
      sources[file] = try String(contentsOf: folder.appendingPathComponent(file), encoding: .utf8)
    }
    self.sources = sources
  }

  /// Returns the first column of the table below a heading.
  private func codes(below heading: String) throws -> Set<String> {
    let start = try #require(page.firstIndex(of: "## " + heading))
    let rows = page[(start + 1)...].prefix { !$0.hasPrefix("## ") }.filter { $0.hasPrefix("| `") }
    let cells = rows.compactMap { $0.split(separator: "|").first }
    return Set(cells.flatMap { $0.matches(of: /`([^`]+)`/).map { String($0.1) } })
  }

  private func source(_ name: String) throws -> String {
    try #require(sources.first { $0.key.hasSuffix("/" + name) }?.value, "no source \(name)")
  }

  private func cases(of name: String, in file: String) throws -> Set<String> {
    let lines = try source(file).components(separatedBy: "\n")
    let start = try #require(lines.firstIndex { $0.contains("enum \(name):") })
    let end = lines[start].prefix { $0 == " " } + "}"
    let body = lines[(start + 1)...].prefix { $0 != end }
    return Set(body.compactMap { $0.firstMatch(of: /^ *case (\w+)/).map { String($0.1) } })
  }

  @Test(arguments: [
    ("JSON and CSV", "Code", "JSONElement+ParsingError.swift"),
    ("SQLite", "Code", "SQLiteError.swift"),
    ("PostgreSQL", "Code", "PostgresError.swift"),
    ("Stores", "Code", "StoreError.swift"), ("Sessions", "Code", "SynchronizationError.swift"),
  ])
  func `each case of an error has its row`(heading: String, name: String, file: String) throws {
    let cases = try cases(of: name, in: file)
    #expect(!cases.isEmpty)
    #expect(try codes(below: heading) == cases)
  }

  @Test func `outcomes of swaps have their rows`() throws {
    let cases = try cases(of: "Outcome", in: "SwapHandle.swift")
    #expect(try codes(below: "Swaps") == cases.union(["container-named-twice", "guard-in-group"]))
  }

  @Test func `errors of one-way synchronizations have their rows`() throws {
    let cases = try cases(of: "Code", in: "OneWayError.swift")
    #expect(
      try codes(below: "One-way synchronization") == cases.union(["other-item", "removal-limit"]))
  }

  @Test func `no enumeration of codes is forgotten`() {
    let files = sources.filter { $0.value.contains(/public enum Code\b/) }.keys
    #expect(
      Set(files.compactMap { $0.split(separator: "/").last }) == [
        "JSONElement+ParsingError.swift", "SQLiteError.swift", "PostgresError.swift",
        "StoreError.swift",
        "SynchronizationError.swift",
        "OneWayError.swift",
      ])
  }

  @Test func `each status code of a file has its row`() throws {
    let codes = try source("ReadFailure.swift").matches(of: /"(file-[a-z-]+)"/)
    #expect(try Set(codes.map { String($0.1) }) == self.codes(below: "Status of files"))
  }

  @Test func `codes that are written out in the sources have their rows`() throws {
    var written: [String: Set<String>] = [:]
    for (_, text) in sources {
      // Comments have examples.
      let code = text.replacing(/\n *\/\/[^\n]*/, with: "")
      for match in code.matches(of: /(SourceError|SourceStatus\.Diagnostic)\(\s*code: "([^"\\]+)"/)
      {
        written[String(match.1), default: []].insert(String(match.2))
      }
    }
    #expect(try codes(below: "Diagnostics") == written["SourceStatus.Diagnostic"])
    let errors = try #require(written["SourceError"])
    let pages = [
      "One-way synchronization", "Derived lists and sources of your own",
      "Lists of other processes", "Swaps", "The tool",
    ]
    let rows = try pages.reduce(into: Set()) { rows, page in
      rows.formUnion(try codes(below: page))
    }
    #expect(errors.subtracting(rows) == [])
  }

  @Test func `each type of error is named`() {
    let text = page.joined(separator: "\n")
    for (file, source) in sources where !file.hasPrefix("Tool/livelist/") {
      for match in source.matches(of: /public struct (\w+): [\w, ]*\bError\b/) {
        // A type that is part of another one is named with it.
        #expect(text.contains("`\(match.1)`") || text.contains(".\(match.1)`"), "\(file)")
      }
    }
  }

  @Test func `each exit status of the tool has its row`() throws {
    let statuses = sources.filter { $0.key.hasPrefix("Tool/livelist/") }.values
      .flatMap { $0.matches(of: /status: ([0-9]+)/).map { String($0.1) } }
    let rows = try codes(below: "The tool").filter { Int($0) != nil }
    #expect(Set(statuses).union(["0"]) == rows)
  }

  @Test func `each action that a terminal can refuse has its row`() throws {
    let rows = try codes(below: "Terminals")
    let actions = sources.values
      .flatMap { $0.matches(of: /TerminalError\(\s*"([^"]+)"/).map { String($0.1) } }
    #expect(!actions.isEmpty)
    for action in actions { #expect(rows.contains { action.hasPrefix($0) }, "\(action)") }
  }

  @Test func `each kind of rule has its row`() throws {
    let rules = try Guide("EventContract").lines
      .compactMap { $0.firstMatch(of: /^- \*\*([A-Z])[0-9]/).map { String($0.1) } }
    #expect(try codes(below: "Checks") == Set(rules).union(["B"]))
  }
}
