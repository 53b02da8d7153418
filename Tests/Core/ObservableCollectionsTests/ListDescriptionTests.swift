import DataSourceTesting
import Diffing
import ObservableCollections
import Observation
import ReactiveSignals
import TestSupport
import Testing

/// The texts of lists that `print`, `dump` and the debugger show.
@Suite(.timeLimit(.minutes(10))) struct ListDescriptionTests {
  /// An element that is its own text, and counts how often it is printed.
  struct Word: Differentiable, Sendable, CustomStringConvertible {
    let text: String
    var printed = Shared(0)

    var differenceIdentifier: String { text }
    func isContentEqual(to source: Word) -> Bool { true }

    var description: String {
      printed.modify { $0 += 1 }
      return text
    }
  }

  /// An element that has a list, without a text of its own.
  struct Folder: Differentiable, Sendable {
    let name: String
    let children: ArrayDataSource<Folder>

    var differenceIdentifier: String { name }
    func isContentEqual(to source: Folder) -> Bool { true }
  }

  private func dumped(_ value: some Any) -> String {
    var text = ""
    dump(value, to: &text)
    return text
  }

  @Test func `a list shows its type, its count, its status and its elements`() {
    let fruits = ArrayDataSource(["apple", "pear", "plum"].map { Word(text: $0) })
    #expect("\(fruits)" == "ArrayDataSource<Word>: 3 elements, loaded: [apple, pear, plum]")
    #expect("\(fruits.state)" == "3 elements, loaded: [apple, pear, plum]")
    let names = ArrayDataSource(["Ada"])
    #expect("\(names)" == "ArrayDataSource<String>: 1 element, loaded: [\"Ada\"]")
    #expect("\(names as any DataSource<String>)" == "\(names)")
  }

  @Test func `a derived list and a history show their contents, and a list its label`() {
    let items = Items([1, 2, 3])
    let odd = items.filter { !$0.id.isMultiple(of: 2) }
    #expect("\(odd)" == "LiveCollection<TestElement>: 2 elements, loaded: [1, 3]")
    odd.labeled("odd")
    #expect("\(odd)" == "LiveCollection<TestElement> \"odd\": 2 elements, loaded: [1, 3]")
    #expect("\(odd.history())" == "CollectionHistory<TestElement>: 2 elements, loaded: [1, 3]")
  }

  @Test func `an empty list shows no elements`() {
    #expect("\(Items())" == "ArrayDataSource<TestElement>: 0 elements, loaded")
  }

  @Test func `the status has its error, and not its diagnostics`() {
    let error = SourceError(code: "offline", message: "there is no network")
    let remark = SourceStatus.Diagnostic(code: "polling", message: "it polls")
    let items = Items(status: .idle)
    #expect("\(items)".hasSuffix(": 0 elements, idle"))
    items.setStatus(.loading)
    #expect("\(items)".hasSuffix(": 0 elements, loading"))
    items.setStatus(.failed(error))
    #expect("\(items)".hasSuffix(": 0 elements, failed: there is no network"))
    items.publish([1, 2], status: SourceStatus(.loaded, diagnostics: [remark]))
    #expect("\(items)".hasSuffix(": 2 elements, loaded: [1, 2]"))
    #expect(dumped(items).contains("status: loaded; it polls\n"))
    items.setStatus(.missing(error))
    #expect("\(items)".hasSuffix(": 2 elements, missing: there is no network: [1, 2]"))
  }

  @Test func `a long list shows, and reads, its first five elements`() {
    let printed = Shared(0)
    let words = ArrayDataSource((0..<103).map { Word(text: "\($0)", printed: printed) })
    // The list becomes a tree.
    words.remove(at: 50)
    #expect(
      "\(words)" == "ArrayDataSource<Word>: 102 elements, loaded: [0, 1, 2, 3, 4, … 97 more]")
    #expect(printed.value == 5)
  }

  @Test func `the text of an element is one line of at most 80 characters`() {
    let words = [
      Word(text: "two\nlines \u{1B}[31m"), Word(text: String(repeating: "a", count: 81)),
    ]
    #expect(
      "\(ArrayDataSource(words).state)"
        == "2 elements, loaded: [two\\nlines \\u{1B}[31m, \(String(repeating: "a", count: 80))…]")
  }

  @Test func `printing an idle source does not start it`() {
    let source = LazySource()
    #expect("\(source)" == "LazySource: 0 elements, idle")
    #expect(dumped(source).hasPrefix("▿ LazySource: 0 elements, idle #0\n"))
    #expect(source.starts.value == 0)
    #expect(source.status == .idle)
  }

  @Test func `printing is not tracked as a read`() {
    let (items, changes) = (Items([1]), Log<String>([]))
    withObservationTracking {
      _ = "\(items) \(items.filter { $0.id > 0 }) \(dumped(items))"
    } onChange: {
      changes.append("changed")
    }
    items.publish([2], status: .loading)
    #expect(changes.value == [])
  }

  @Test func `a list is printed inside observers, transactions and closures of operators`() {
    let (items, lines) = (Items([1, 2]), Log<String>([]))
    let even = items.filter { [unowned items] element in
      lines.append("filter: \(items)")
      return element.id.isMultiple(of: 2)
    }
    let observations = [
      items.observe { [unowned items, unowned even] event in
        lines.append("\(event): \(items), \(even)")
      },
      items.observeStatus { [unowned items] _ in lines.append("status: \(items)") },
    ]
    lines.exchange([])
    items.transaction { draft in
      draft.append(4)
      draft.newStatus = .loading
      lines.append("transaction: \(items)")
    }
    let new = "ArrayDataSource<TestElement>: 3 elements, loading: [1, 2, 4]"
    #expect(
      lines.value == [
        "transaction: ArrayDataSource<TestElement>: 2 elements, loaded: [1, 2]", "filter: \(new)",
        "+ [2] 4\n1 inserted: \(new), LiveCollection<TestElement>: 2 elements, loading: [2, 4]",
        "status: \(new)",
      ])
    for observation in observations { observation.dispose() }
  }

  @Test func `a dump has the count, the status and the first elements`() {
    let items = Items([1, 2, 3, 4, 5, 6, 7])
    #expect(
      dumped(items) == """
        ▿ ArrayDataSource<TestElement>: 7 elements, loaded: [1, 2, 3, 4, 5, … 2 more] #0
          ▿ status: loaded
            - state: ObservableCollections.SourceStatus.State.loaded
            - diagnostics: 0 elements
          - count: 7
          ▿ first elements: 5 elements
            ▿ 1
              - id: 1
              - content: 0
            ▿ 2
              - id: 2
              - content: 0
            ▿ 3
              - id: 3
              - content: 0
            ▿ 4
              - id: 4
              - content: 0
            ▿ 5
              - id: 5
              - content: 0

        """)
    let labels = Mirror(reflecting: Items([1])).children.map(\.label)
    #expect(labels == ["status", "count", "elements"])
    #expect(dumped(Snapshot(["a", "b"])) == "▿ 2 elements\n  - \"a\"\n  - \"b\"\n")
  }

  @Test func `a list in an element shows no elements, even if it is the same list`() {
    let root = ArrayDataSource<Folder>()
    root.append(Folder(name: "home", children: root))
    let list = "ArrayDataSource<Folder>: 1 element, loaded"
    #expect("\(root)" == "\(list): [Folder(name: \"home\", children: \(list))]")
    #expect("\(root.snapshot)".contains(list))
    #expect(dumped(root).contains("elements: 1 element"))
    root.removeAll()
  }

  @Test func `an initial event shows the first elements, and a change its description`() throws {
    let items = Items((0..<9).map { TestElement($0) })
    let recorder = RecordingObserver(items)
    items.remove(at: 0)
    let initial = CollectionEvent.initial(Snapshot<TestElement>([1, 2, 3, 4, 5, 6]), revision: 0)
    #expect("\(initial)" == "initial: 6 elements: [1, 2, 3, 4, 5, … 1 more]")
    #expect("\(CollectionEvent<String>.initial([], revision: 0))" == "initial: 0 elements")
    let change = try #require(recorder.changes.last)
    #expect("\(CollectionEvent.change(change))" == "- [0] 0\n1 deleted")
    #expect(
      dumped(initial).hasPrefix(
        "▿ \(initial)\n  - revision: 0\n  - count: 6\n  ▿ first elements: 5 elements\n    ▿ 1\n"))
    for dump in [dumped(change), dumped(CollectionEvent.change(change))] {
      let lines = dump.split(separator: "\n").map { $0.trimmingPrefix { $0 == " " } }
      #expect(
        lines.prefix(6) == [
          "▿ - [0] 0", "1 deleted", "- changeset: \"Changeset(deletions: [0])\"", "- revision: 1",
          "- count: 8", "▿ first elements: 5 elements",
        ])
    }
  }
}
