import DataSourceTesting
import SQLiteSources
import Swappable
import TestSupport
import Testing

struct Chore: Identifiable, Hashable, Sendable, Differentiable {
  let id: Int
  var title: String
  var isDone = false
}

enum Group: String, Differentiable { case open, done }

func groups(of chores: Snapshot<Chore>) -> [ArraySection<Group, Chore>] {
  [
    ArraySection(model: .open, elements: chores.filter { !$0.isDone }),
    ArraySection(model: .done, elements: chores.filter(\.isDone)),
  ]
}

/// The code of the guides for users of other libraries.
@Suite(.timeLimit(.minutes(10))) struct ComingFromGuideTests {
  @Test(
    arguments: [
      "ComingFromDifferenceKit", "ComingFromDiffableDataSources", "ComingFromValueObservation",
      "ComingFromCombine",
    ])
  func `the guides' code is compiled here`(name: String) throws {
    let guide = try Guide(name)
    #expect(!guide.code.isEmpty)
    #expect(try guide.paragraphs(missingIn: #filePath) == [])
  }

  struct Person: Differentiable, Sendable {
    let id: Int
    var name: String

    var differenceIdentifier: Int { id }
    func isContentEqual(to source: Person) -> Bool { name == source.name }
  }

  @MainActor final class PeopleScreen {
    private(set) var people: [Person] = []
    private var binding: Disposable?

    init(_ source: any DataSource<Person>, in view: some BatchUpdatingListView) {
      binding = source.bind(
        to: view, interrupt: { $0.changeCount > 100 },
        setData: { [weak self] people in self?.people = people })
    }
  }

  @MainActor @Test func `a screen with a list`() async {
    let view = OperationLog()
    let source = ArrayDataSource([Person(id: 1, name: "Ada")])
    let screen = PeopleScreen(source, in: view)
    source.append(Person(id: 2, name: "Grace"))
    await source.flush()
    #expect(screen.people.map(\.id) == [1, 2])
    #expect(view.operations == ["reload all", "insert [0.1]"])
  }

  @MainActor @Test func `a screen without a list`() {
    var people = [Person(id: 1, name: "Ada")]
    @MainActor func show(_ newPeople: [Person], in view: some BatchUpdatingListView) {
      let changes = StagedChangeset(from: people, to: newPeople)
      view.reload(using: changes) { people = $0 }
    }
    let view = OperationLog()
    show([Person(id: 2, name: "Grace"), Person(id: 1, name: "Ada")], in: view)
    #expect(people.map(\.id) == [2, 1])
    #expect(view.operations == ["insert [0.0]"])
  }

  @MainActor final class ChoreScreen {
    private(set) var groups: [ArraySection<Group, Chore>] = []
    private var binding: Disposable?

    init(_ chores: any DataSource<Chore>, in view: some BatchUpdatingSectionedListView) {
      binding = chores.bind(
        to: view, sections: groups(of:), setData: { [weak self] groups in self?.groups = groups })
    }
  }

  @MainActor @Test func `a screen with sections`() async {
    let view = OperationLog()
    let chores = ArrayDataSource([Chore(id: 1, title: "Write"), Chore(id: 2, title: "Test")])
    let screen = ChoreScreen(chores, in: view)
    chores.update(identifiedBy: 1) { $0.isDone = true }
    await chores.flush()
    #expect(screen.groups.map { $0.elements.map(\.id) } == [[2], [1]])
    #expect(view.operations == ["reload all", "update [0.0]", "move 0.0 to 1.0"])
  }

  struct Player: Codable, Identifiable, Hashable, Sendable, Differentiable {
    let id: Int
    var name: String
    var score: Int
  }

  @MainActor final class PlayerScreen {
    let players = Property<[Player]>([])
    private(set) var problem: String?
    private let bag = DisposeBag()

    init(_ connection: SQLiteConnection, team: String) throws {
      let source = try SQLiteDataSource<Player>(
        connection: connection,
        sql: "SELECT id, name, score FROM player WHERE team = ? ORDER BY score DESC, id",
        arguments: [team])
      source.observeOnMainActor { [weak self] event in self?.show(event) }.store(in: bag)
      source.observeStatus { [weak self] status in
        Task { @MainActor in self?.problem = status.error?.message }
      }.store(in: bag)
    }

    private func show(_ event: CollectionEvent<Player>) {
      players.value = Array(event.snapshot)
      // `change.inserted`, `change.moved` and so on have the rows to animate.
    }
  }

  @MainActor @Test func `a screen with a query`() async throws {
    let directory = try TemporaryDirectory()
    let connection = try SQLiteConnection(path: directory("players.db"))
    try connection.execute(
      "CREATE TABLE player (id INTEGER PRIMARY KEY, name TEXT, score INTEGER, team TEXT)")
    let screen = try PlayerScreen(connection, team: "red")
    try connection.execute("INSERT INTO player VALUES (1, 'Ada', 3, 'red'), (2, 'Bo', 9, 'blue')")
    for await players in screen.players.signal.values() where players.map(\.name) == ["Ada"] {
      break
    }
    #expect(screen.problem == nil)
  }

  struct City: Identifiable, Hashable, Sendable, Differentiable {
    let id: Int
    var name: String
  }

  final class SearchModel: Sendable {
    let text = Property("")
    let cities = ArrayDataSource<City>()
    let results: LiveCollection<City>
    private let bag = DisposeBag()

    init(clock: any Clock<Duration> = ContinuousClock()) {
      let query = Property("")
      results = cities.filter(by: query) { $1.isEmpty || $0.name.contains($1) }
      text.signal.debounced(for: .milliseconds(300), clock: clock)
        .observe { query.value = $0 }
        .store(in: bag)
    }
  }

  @Test func `a screen with a search`() {
    let clock = ManualClock()
    let model = SearchModel(clock: clock)
    model.cities.replace(with: [City(id: 1, name: "Turin"), City(id: 2, name: "Rome")])
    model.text.value = "Ro"
    #expect(model.results.snapshot.map(\.id) == [1, 2])
    clock.advance(by: .milliseconds(300))
    #expect(model.results.snapshot.map(\.id) == [2])
  }
}

/// A view that records its operations, and shows nothing.
@MainActor private final class OperationLog: BatchUpdatingSectionedListView {
  private(set) var operations: [String] = []

  func reloadData() { operations.append("reload all") }

  func performBatchUpdates(
    _ updates: () -> Void, completion: @escaping @MainActor (_ isFinished: Bool) -> Void
  ) {
    updates()
    completion(true)
  }

  func deleteSections(at sections: [Int]) { operations.append("delete sections \(sections)") }
  func insertSections(at sections: [Int]) { operations.append("insert sections \(sections)") }
  func reloadSections(at sections: [Int]) { operations.append("update sections \(sections)") }
  func moveSection(at source: Int, to destination: Int) {
    operations.append("move section \(source) to \(destination)")
  }

  func deleteItems(at paths: [SectionedChangeset.Path]) { operations.append("delete \(paths)") }
  func insertItems(at paths: [SectionedChangeset.Path]) { operations.append("insert \(paths)") }
  func reloadItems(at paths: [SectionedChangeset.Path]) { operations.append("update \(paths)") }
  func moveItem(at source: SectionedChangeset.Path, to destination: SectionedChangeset.Path) {
    operations.append("move \(source) to \(destination)")
  }
}
