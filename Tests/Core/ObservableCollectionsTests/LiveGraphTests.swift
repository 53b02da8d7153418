import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import TestSupport
import TestTags
import Testing

/// Explanations of live lists.
@Suite(.tags(.concurrency), .timeLimit(.minutes(10))) struct LiveGraphTests {
  private let source = Items([3, 1, 2])

  private func kinds(_ source: any DataSource<TestElement>) -> [String] {
    source.explain().nodes.map(\.kind)
  }

  @Test func `a chain is explained from its root to its end`() throws {
    let end = source.filter { $0.id > 0 }.sorted { $0.id < $1.id }.map { $0 }
    let graph = end.explain()
    #expect(graph.nodes.map(\.kind) == ["ArrayDataSource", "Filter", "Sort", "Map"])
    #expect(graph.nodes.map(\.inputs) == [[], [0], [1], [2]])
    #expect(graph.nodes.map(\.elementCount) == [3, 3, 3, 3])
    #expect(graph.nodes.allSatisfy { $0.status == .loaded && $0.work == nil })
    #expect(graph.slowest == nil)
  }

  @Test func `a label is shown by everything downstream`() {
    source.labeled("prices")
    let end = source.reversed().labeled("rows")
    #expect(end.explain().nodes.map(\.label) == ["prices", "rows"])
    #expect(
      end.explain().description == """
        2 Reversal "rows", 3 elements, loaded
        └ 1 ArrayDataSource "prices", 3 elements, loaded
        The work is not counted. To count it, call countWork() before the changes.
        """)
  }

  @Test func `observers are counted, and properties are inputs`() {
    let limit = Property(2)
    let end = source.filter(by: limit) { $0.id <= $1 }
    let observations = [end.observe { _ in }, end.observeStatus { _ in }]
    let nodes = end.explain().nodes
    #expect(nodes.map(\.kind).sorted() == ["ArrayDataSource", "ParameterFilter", "Property"])
    #expect(nodes.first { $0.kind == "Property" }?.elementCount == nil)
    #expect(nodes.last?.observerCount == 2)
    withExtendedLifetime(observations) {}
  }

  @Test func `a node that is used twice appears once`() {
    let shared = source.filter { $0.id > 1 }
    let end = shared.map { $0 }.concatenated(with: shared)
    let graph = end.explain()
    #expect(graph.nodes.map(\.kind) == ["ArrayDataSource", "Filter", "Map", "Concatenation"])
    #expect(graph.nodes.last?.inputs == [2, 1])
    #expect(
      graph.description.hasPrefix(
        """
        4 Concatenation, 4 elements, loaded
        ├ 3 Map, 2 elements, loaded
        │ └ 2 Filter, 2 elements, loaded
        │   └ 1 ArrayDataSource, 3 elements, loaded
        └ 2 Filter, as above
        """))
  }

  @Test func `inputs in other domains are followed`() {
    let other = Items([7]).labeled("other")
    let end = source.concatenated(with: other.map { $0 })
    #expect(
      kinds(end) == ["ArrayDataSource", "ArrayDataSource", "Map", "Concatenation"])
    #expect(end.explain().nodes[1].label == "other")
  }

  @Test func `the children of a flat map are inputs, and many of them are cut`() {
    let lists = (0..<30).map { Items([TestElement($0)]) }
    let parents = Items((0..<30).map { TestElement($0) })
    let end = parents.flatMap { parent -> Items in lists[parent.id] }
    let graph = end.explain()
    #expect(graph.nodes.count == 32)
    #expect(graph.nodes.last?.kind == "SourceFlatMap")
    #expect(graph.description.contains("\n└ and 11 more\n"))
  }

  @Test func `groups, aggregates and guards are explained`() throws {
    let group = source.indexed { $0.id % 2 }[1]
    #expect(group.explain().nodes.map(\.kind).first == "ArrayDataSource")
    #expect(kinds(source.guarded(by: .count(atLeast: 1))) == ["ArrayDataSource", "Guard"])
  }

  // MARK: Counts

  @Test func `work is counted from the call on, until the handle is released`() throws {
    let end = source.filter { $0.id > 1 }.sorted { $0.id < $1.id }
    source.append(4)
    let work = end.countWork()
    #expect(end.explain().nodes.allSatisfy { $0.work?.passCount == 0 })
    source.append(5)
    source.append(0)
    source.remove(at: source.count - 1)
    let counts = end.explain().nodes.map(\.work)
    #expect(counts.map { $0?.passCount } == [3, 3, 1])
    #expect(counts.map { $0?.elementsIn } == [0, 3, 1])
    #expect(counts.map { $0?.elementsOut } == [3, 1, 1])
    #expect(counts.map { $0?.changesOut } == [3, 1, 1])
    work.dispose()
    #expect(end.explain().nodes.allSatisfy { $0.work == nil })
    let again = end.countWork()
    source.append(6)
    #expect(end.explain().nodes.map { $0.work?.passCount } == [1, 1, 1])
    withExtendedLifetime(again) {}
  }

  @Test func `the elements of a group count the changes that they follow`() throws {
    let group = source.indexed { $0.content }[7]
    let work = group.countWork()
    source.append(TestElement(4, 7))
    source.append(TestElement(5, 8))
    source[source.count - 1].content = 7
    let counts = try #require(group.explain().nodes.last?.work)
    #expect(counts.passCount == 2 && counts.changesIn == 2 && counts.elementsIn == 2)
    #expect(counts.changesOut == 2 && counts.elementsOut == 2)
    withExtendedLifetime(work) {}
  }

  @Test func `two handles count together`() {
    let first = source.countWork()
    source.append(4)
    let second = source.countWork()
    first.dispose()
    source.append(5)
    #expect(source.explain().nodes[0].work?.passCount == 2)
    second.dispose()
    #expect(source.explain().nodes[0].work == nil)
  }

  @Test func `a slow operator is marked`() throws {
    let end = source.filter { _ in true }.map { element in
      let begin = ContinuousClock.now
      while element.id == 9, begin.duration(to: .now) < .milliseconds(100) {}
      return element
    }.labeled("slow").sorted { $0.id < $1.id }
    let work = end.countWork()
    for id in 5..<10 { source.append(TestElement(id)) }
    let graph = end.explain()
    #expect(graph.slowest?.label == "slow")
    #expect(try #require(graph.slowest?.work?.time) >= .milliseconds(100))
    let lines = graph.description.split(separator: "\n")
    let line = try #require(lines.firstIndex { $0.contains("← the most time") })
    #expect(lines[line - 1].hasSuffix("3 Map \"slow\", 8 elements, loaded"))
    #expect(lines.filter { $0.contains("←") }.count == 1)
    withExtendedLifetime(work) {}
  }

  @Test func `a slow observer is marked`() throws {
    let end = source.map { $0 }
    let work = end.countWork()
    let observation = end.observe { event in
      guard case .change = event else { return }
      let begin = ContinuousClock.now
      while begin.duration(to: .now) < .milliseconds(100) {}
    }
    source.append(4)
    let description = end.explain().description
    #expect(
      description.split(separator: "\n").contains {
        $0.contains("observers: ") && $0.hasSuffix("← the most time")
      })
    withExtendedLifetime((work, observation)) {}
  }

  @Test func `slow reads of a source are marked`() throws {
    let (fast, slow) = (Items([1]).labeled("fast"), Items([2]).labeled("slow"))
    let rows = fast.concatenated(with: slow)
    let start = ContinuousClock.now - .seconds(1)
    slow.collection.record(.load, startedAt: start, count: 1)
    let work = rows.countWork()
    slow.collection.record(.reload, startedAt: start, count: 1)
    slow.append(3)
    fast.append(4)
    let graph = rows.explain()
    #expect(graph.slowest?.label == "slow")
    let marked = graph.description.split(separator: "\n").filter { $0.contains("← the most time") }
    #expect(marked.count == 1)
    let loads = "2 loads in 2.0 s; the last in 1.0 s; since counting began: 1.0 s ("
    #expect(marked[0].contains(loads))
    withExtendedLifetime(work) {}
  }

  @Test func `the last error of a source stays after it has recovered`() {
    source.setStatus(.failed(SourceError(code: "gone", message: "the disk is gone")))
    source.setStatus(.loaded)
    let node = source.explain().nodes[0]
    #expect(node.status == .loaded)
    #expect(node.source?.lastFault == "the disk is gone")
    #expect(source.explain().description.contains("last error: the disk is gone"))
  }

  @Test func `a list can be explained inside an observer`() {
    let end = source.map { $0 }
    let counts = Log<Int?>()
    let observation = end.observe { [weak end] _ in
      counts.append(end?.explain().nodes.last?.elementCount)
    }
    source.append(4)
    #expect(counts.value == [3, 4])
    withExtendedLifetime(observation) {}
  }

  // MARK: Traces

  @Test func `a trace has a line for each commit and each pass`() async throws {
    let end = source.labeled("numbers").filter { $0.id > 1 }
    var steps = end.trace().makeAsyncIterator()
    source.append(4)
    source.setStatus(.loading)
    let commit = try #require(await steps.next())
    #expect("\(commit)" == "commit ArrayDataSource \"numbers\": 1 element")
    let pass = try #require(await steps.next())
    #expect(pass.action == .pass)
    #expect((pass.nodeCount, pass.count) == (2, 2))
    #expect("\(pass)".hasPrefix("pass: 2 nodes, 2 changed, "))
    #expect(try #require(await steps.next()).description.hasSuffix(": status"))
  }

  @Test func `the oldest steps are dropped if nobody reads`() async throws {
    var steps = source.trace().makeAsyncIterator()
    for id in 0..<1_000 { source.append(TestElement(id)) }
    let first = try #require(await steps.next())
    #expect(first.droppedCount == 1_000)
    #expect("\(first)".hasSuffix("(1000 earlier steps were dropped)"))
    #expect(try #require(await steps.next()).droppedCount == 0)
  }

  @Test func `a trace ends with its task`() async {
    let task = Task { [source] in
      var count = 0
      for await _ in source.trace() { count += 1 }
      return count
    }
    task.cancel()
    #expect(await task.value == 0)
    source.append(4)
    #expect(source.explain().nodes[0].work == nil)
  }
}
