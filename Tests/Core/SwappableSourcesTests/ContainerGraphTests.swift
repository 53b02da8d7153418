import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import SwappableSources
import TestSupport
import Testing

/// Explanations and traces of containers.
@Suite(.timeLimit(.minutes(10))) struct ContainerGraphTests {
  private let old = ArrayDataSource<TestElement>([1, 2]).labeled("old")
  private let new = ArrayDataSource<TestElement>([2, 3, 4]).labeled("new")
  private let container: SwappableContainer<TestElement>

  init() {
    container = SwappableContainer(old)
  }

  @Test func `a container is explained with the source that it shows`() {
    #expect(
      container.explain().description.hasPrefix(
        """
        2 SwappableContainer, 2 elements, loaded
        └ 1 ArrayDataSource "old", 2 elements, loaded
        """))
    container.swap(to: new.filter { $0.id != 3 })
    #expect(
      container.explain().nodes.map(\.kind) == ["ArrayDataSource", "Filter", "SwappableContainer"])
    #expect(container.explain().nodes[0].label == "new")
  }

  @Test func `swaps are counted, with their time`() throws {
    #expect(container.explain().nodes.last?.source == nil)
    container.swap(to: new)
    container.swap(to: old)
    let graph = container.explain()
    #expect(graph.nodes.last?.source?.loadCount == 2)
    #expect(graph.description.contains("\n│ 2 swaps in "))
  }

  @Test func `a fallback source is explained with all of its sources`() {
    let fallback = FallbackSource([new, old]).labeled("prices")
    let observation = fallback.observe { _ in }
    let graph = fallback.explain()
    #expect(graph.nodes.last?.kind == "FallbackSource")
    #expect(graph.nodes.last?.label == "prices")
    #expect(Set(graph.nodes.map(\.label)) == ["new", "old", "prices"])
    withExtendedLifetime(observation) {}
  }

  @Test func `a source that is swapped in is counted too, until counting ends`() {
    let rows = container.map { $0 }
    let work = rows.countWork()
    container.swap(to: new)
    new.append(5)
    let graph = rows.explain()
    #expect(graph.nodes.map(\.label) == ["new", nil, nil])
    #expect(graph.nodes.map { $0.work?.passCount } == [1, 2, 2])
    #expect(graph.nodes.map { $0.work?.elementsOut } == [1, 4, 4])
    work.dispose()
    #expect(new.explain().nodes[0].work == nil)
    #expect(rows.explain().nodes.allSatisfy { $0.work == nil })
  }

  @Test func `a trace has a line for a swap`() async throws {
    let observation = container.observe { _ in }
    var steps = container.trace().makeAsyncIterator()
    container.swap(to: new)
    var lines: [String] = []
    while let step = await steps.next() {
      lines.append("\(step)")
      if step.action == .swap { break }
    }
    #expect(lines.count == 3)
    #expect(lines[0] == "commit SwappableContainer: 3 elements")
    #expect(lines[1].hasPrefix("pass: 1 node, 1 changed, "))
    #expect(lines[2].hasPrefix("swap SwappableContainer: 3 elements, "))
    withExtendedLifetime(observation) {}
  }
}
