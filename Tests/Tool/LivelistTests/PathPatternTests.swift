import Foundation
import ObservableCollections
import ReactiveSignals
import SwappablePrimitives
import TestSupport
import TestTags
import Testing

@testable import FileSources
@testable import livelist

/// The files and directories that patterns of paths match.
@Suite(.tags(.system)) struct PathPatternTests {
  private let place: Workplace

  init() throws { place = try Workplace() }

  private func makeDirectory(_ name: String) throws {
    try FileManager.default.createDirectory(atPath: place(name), withIntermediateDirectories: true)
  }

  @Test func `a directory is watched if a name without wildcards follows a wildcard`() throws {
    try makeDirectory("conf/a")
    let pattern = try #require(PathPattern(ByteString(place("conf/*/app.json"))))
    let directories = pattern.matches().directories.map {
      URL(fileURLWithPath: $0.description).lastPathComponent
    }
    #expect(directories.contains("a"))
  }

  @Test func `a directory whose name matches is no file`() throws {
    try makeDirectory("x.json")
    try place.json("a.json", "[1]")
    let pattern = try #require(PathPattern(ByteString(place("*.json"))))
    #expect(pattern.matches().paths == [ByteString(place("a.json"))])
  }

  @Test func `a question mark matches a character`() throws {
    try place.json("é.json", "[1]")
    let livelist = try Livelist(
      ["watch", place("?.json"), "--until-eof"], environment: ["LC_ALL": "C.UTF-8"])
    livelist.endInput()
    #expect(try livelist.restOfOutput().contains(#""elements":[1]"#))
  }

  @Test func `the paths stay while their directory cannot be read`() async throws {
    try makeDirectory("list")
    try place.json("list/a.json", "[]")
    let pattern = try #require(PathPattern(ByteString(place("list/*.json"))))
    let source = MatchingFiles<JSONElement>.dataSource(of: pattern, shownAs: "list") { path, _ in
      JSONFileDataSource(path: path, key: nil)
    }
    let observation = source.observe { _ in }
    #expect(try await source.loaded().count == 1)
    // The path becomes a circle of links in one step, so it cannot be read.
    let files = FileManager.default
    try files.createSymbolicLink(atPath: place("circle"), withDestinationPath: "list")
    try place.exchange("list", "circle")
    try await wait(for: "the failure") { source.status.error != nil }
    // A path that has gone would be removed by now.
    try await Task.sleep(for: .milliseconds(200))
    await source.refresh()
    #expect(source.count == 1)
    try place.exchange("list", "circle")
    try await wait(for: "the end of the failure") { source.status.error == nil }
    #expect(source.count == 1)
    observation.dispose()
  }
}
