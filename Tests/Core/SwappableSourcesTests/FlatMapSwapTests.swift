import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import SwappableSources
import TestSupport
import Testing

/// Flat maps to live collections together with containers.
@Suite struct FlatMapSwapTests {
  private typealias Lists = ArrayDataSource<TodoList>

  /// A list of todos, which is an element of another list.
  private struct TodoList: Differentiable, Sendable {
    let id: Int
    var todos: any DataSource<TestElement>

    var differenceIdentifier: Int { id }

    func isContentEqual(to source: TodoList) -> Bool { todos === source.todos }
  }

  private let sources = [Items([1, 2]), Items([3]), Items([]), Items([4, 5, 6])]

  private func ids(_ source: some DataSource<TestElement>) -> [Int] { source.snapshot.map(\.id) }

  @Test func `a cycle through a container is refused on either side`() {
    let container = SwappableContainer(sources[0])
    let lists = Lists([TodoList(id: 1, todos: container)])
    let all = lists.flatMap { $0.todos }
    #expect(container.swap(to: all.map { $0 }).outcomeIfKnown == .cycle)
    let other = SwappableContainer<TestElement>(all)
    lists.append(TodoList(id: 2, todos: other))
    #expect(all.status.error?.code == "cycle" && ids(all) == [1, 2])
  }

  @Test func `flat maps, operators and containers nest`() throws {
    let container = SwappableContainer(sources[1])
    let lists = Lists([TodoList(id: 1, todos: container), TodoList(id: 2, todos: sources[0])])
    let rooms = ArrayDataSource([1, 2])
    let all = rooms.flatMap { room in
      lists.filter { $0.id >= room }.flatMap { $0.todos.filter { $0.id > 1 } }
    }
    let events = RecordingObserver(all.sorted(by: \.id))
    #expect(ids(all) == [3, 2, 2])
    container.swap(to: sources[3])
    #expect(ids(all) == [4, 5, 6, 2, 2])
    withTransaction {
      sources[0].append(7)
      sources[3].remove(at: 0)
      rooms.move(from: 0, to: 1)
    }
    #expect(ids(all) == [2, 7, 5, 6, 2, 7])
    #expect(events.changes.count == 2)
  }
}
