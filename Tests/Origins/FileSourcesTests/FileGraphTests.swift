import Diffing
import FileSources
import ObservableCollections
import ReactiveSignals
import TestSupport
import Testing

/// Explanations and traces of lists over files.
@Suite(.timeLimit(.minutes(10))) struct FileGraphTests {
  private let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
    try directory.write("[1,2]", to: "a.json")
    try directory.write("1\n2\n3\n", to: "b.jsonl")
  }

  @Test func `files are explained with their path and mode`() async throws {
    let file = JSONFileDataSource<JSONElement>(path: directory("a.json"))
    let lines = JSONLinesDataSource<JSONElement>(path: directory("b.jsonl"))
    let rows = file.concatenated(with: lines)
    _ = try await rows.loaded()
    _ = try await lines.loaded()
    let nodes = rows.explain().nodes
    #expect(nodes.map(\.kind) == ["JSONFileDataSource", "JSONLinesDataSource", "Concatenation"])
    #expect(nodes[0].source?.location == file.path)
    #expect(nodes[1].source?.location == lines.path)
    for node in nodes.prefix(2) {
      #expect(["notified", "polling"].contains(node.source?.mode))
      #expect(node.source?.reason?.isEmpty == false)
      #expect(node.source?.loadCount == 1)
    }
  }

  @Test func `each load and reload is a step`() async throws {
    let file = JSONFileDataSource<JSONElement>(path: directory("a.json")).labeled("numbers")
    var steps = file.trace().makeAsyncIterator()
    _ = try await file.loaded()
    try directory.write("[1,2,3]", to: "a.json")
    var lines: [String] = []
    while lines.count < 2, let step = await steps.next() {
      if step.action == .load || step.action == .reload { lines.append("\(step)") }
    }
    #expect(lines[0].hasPrefix("load JSONFileDataSource \"numbers\": 2 elements, "))
    #expect(lines[1].hasPrefix("reload JSONFileDataSource \"numbers\": "))
  }

  @Test func `the error of a missing file is explained`() async throws {
    let file = JSONFileDataSource<JSONElement>(path: directory("none.json"))
    let recorder = SourceRecorder(file)
    try await recorder.wait { $0.statuses.last?.error != nil }
    let node = file.explain().nodes[0]
    #expect(node.source?.loadCount == 0)
    #expect(node.source?.lastFault?.contains("none.json") == true)
  }
}
