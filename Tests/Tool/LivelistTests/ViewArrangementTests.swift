import DataSourceTesting
import FileSources
import ObservableCollections
import ReactiveSignals
import TerminalViews
import TestSupport
import TestTags
import Testing

@testable import livelist

@Suite(.timeLimit(.minutes(10))) struct ViewArrangementTests {
  private typealias Parameters = ViewArrangement.Parameters

  private static let names = [
    "alpha", "Alphabet", "be\u{301}ta", "beta", "ALP", "a\"b", "c:\\\\alp", "line\nalp", "ärger",
    "", "kelvin", "\u{212A}elvin", "al\u{301}p", "漢字",
  ]
  private static let texts = [
    "", "a", "al", "alp", "ALPHA", "alphabet", "e", "be", "k", "kelvin", "ä", "är", "\"", "a\"",
    "\\", "n", "l\u{301}", "漢", "7", "true", "x", "ke", "\u{212A}e", "name",
  ]

  private static let filters =
    texts + [
      "name~a", "name~al", "name~ALP", "name~", "name!~al", "size=null", "size<0", "size<=1",
      "size!=2", "name>b", "id>10", "other=5", "a al", "al a", "alp be", "  ", "/^a/", "/^al/",
      "/p$/ a", "/(/", "not name~a", "name~a and size<0", "name~a or id>10", "name~/^a/",
    ]

  private static func element(_ id: Int, _ name: String, _ size: Int?) throws -> JSONElement {
    try JSONElement(
      members: [
        ("id", .integer(id)), ("name", .string(name)), ("size", size.map { .integer($0) } ?? .null),
        ("isShort", .bool(name.count < 4)),
      ], key: "id")
  }

  /// Returns the elements that contain a text, in an order.
  private static func arranged(
    _ elements: some Sequence<JSONElement>, _ parameters: Parameters
  ) -> [JSONElement] {
    let matching = elements.filter(parameters.filter.matches)
    guard let order = parameters.order else { return matching }
    let keyed = matching.enumerated().map { offset, element in
      let value = ViewColumns.value(of: element, in: order.column)
      return (offset: offset, element: element, key: ViewOrder.Key(value))
    }
    return keyed.sorted { one, other in
      if one.key == other.key { return one.offset < other.offset }
      return order.isDescending ? one.key > other.key : one.key < other.key
    }.map(\.element)
  }

  /// Returns the lines of elements in sections by the values of a field.
  private static func lines(_ elements: [JSONElement], groupedBy field: String) -> [String] {
    let groups = Dictionary(grouping: elements) { ViewGroup(of: $0, by: field) }
    return groups.sorted { ($0.key.key, $0.key.text) < ($1.key.key, $1.key.text) }
      .flatMap { [ViewGroup.header($0.key, count: $0.value.count)] + $0.value.map(\.description) }
  }

  private static func text(_ line: ViewLine) -> String {
    switch line {
    case .header(let group, let count): ViewGroup.header(group, count: count)
    case .element(let row): row.element.description
    }
  }

  @Test(.reaches(.changes), arguments: 0..<20 as Range<UInt64>)
  func `the list follows random edits and parameters`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let source = ArrayDataSource<JSONElement>()
    let arrangement = ViewArrangement(source)
    let grouped = ViewArrangement(source, groupedBy: "size")
    let changes = RecordingObserver(counting: arrangement.rows)
    let folded = Shared<[JSONElement]>([])
    let observation = arrangement.rows.observe { event in
      folded.value = event.snapshot.map { $0.element }
    }
    var parameters = Parameters()
    var next = 0
    for _ in 0..<60 {
      try source.transaction { draft in
        for _ in 0..<Int.random(in: 0..<6, using: &random) {
          let name = Self.names.randomElement(using: &random) ?? ""
          let size = Bool.random(using: &random) ? nil : Int.random(in: -3..<3, using: &random)
          switch Int.random(in: 0..<(draft.isEmpty ? 1 : 5), using: &random) {
          case 0, 1:
            let offset = Int.random(in: 0...draft.count, using: &random)
            draft.insert(try Self.element(next, name, size), at: offset)
            next += 1
          case 2: draft.remove(at: Int.random(in: 0..<draft.count, using: &random))
          case 3:
            let offset = Int.random(in: 0..<draft.count, using: &random)
            draft[offset] = try Self.element(draft[offset]["id"]?.integer ?? 0, name, size)
          default:
            draft.move(
              from: Int.random(in: 0..<draft.count, using: &random),
              to: Int.random(in: 0..<draft.count, using: &random))
          }
        }
      }
      var new = parameters
      if Bool.random(using: &random) {
        let text = Self.filters.randomElement(using: &random) ?? ""
        new.filter = ViewFilter(text, titles: ["id", "name", "size"])
      }
      if Bool.random(using: &random) {
        let column = ["id", "name", "size", "isShort", "none"].randomElement(using: &random)
        new.order = column.map {
          ViewOrder(column: $0, isDescending: Bool.random(using: &random))
        }
      } else if Int.random(in: 0..<4, using: &random) == 0 {
        new.order = nil
      }
      let revision = arrangement.rows.revision
      arrangement.change(from: parameters, to: new)
      grouped.change(from: parameters, to: new)
      #expect(arrangement.rows.revision <= revision + 1, "seed \(seed)")
      parameters = new
      let expected = Self.arranged(source.snapshot, parameters)
      #expect(arrangement.rows.snapshot.map { $0.element } == expected, "seed \(seed)")
      #expect(folded.value == expected, "seed \(seed)")
      let lines = Self.lines(expected, groupedBy: "size")
      #expect(grouped.lines.snapshot.map(Self.text) == lines, "seed \(seed)")
    }
    Coverage.note(changes)
    observation.dispose()
  }

  @Test func `rows have the same numbers as in a list without headers`() throws {
    let rows = try (0..<20).map { number in
      ViewElement(
        try JSONElement(
          members: [("id", .integer(number)), ("kind", .integer(number / 7))], key: "id"))
    }
    let source = ArrayDataSource(rows.map(\.element))
    for field in ["kind", "id", nil] {
      let lines = ViewArrangement(source, groupedBy: field).lines.snapshot
      let numbers = ViewNumbers(lines)
      #expect(numbers.count == 20)
      var next = 1
      for (offset, line) in lines.enumerated() {
        #expect(numbers.number(ofLine: offset) == next)
        guard line.row != nil else { continue }
        #expect(numbers.line(ofNumber: next) == offset)
        next += 1
      }
    }
    #expect(ViewNumbers(Snapshot()).count == 0)
  }

  // MARK: Patterns

  @Test func `a pattern finds the visible text of values`() throws {
    for name in Self.names {
      let element = try Self.element(17, name, 3)
      for text in Self.texts {
        let values = ["17", name, "3", name.count < 4 ? "true" : "false"]
        var isMatch = values.contains { $0.lowercased().contains(text.lowercased()) }
        // A letter that is ASCII only in lowercase is not found by a text in ASCII.
        if name.hasPrefix("\u{212A}"), ["k", "ke", "kelvin"].contains(text) { isMatch = false }
        #expect(ViewPattern(text).matches(element) == isMatch, "\(text) in \(name)")
      }
    }
  }

  @Test(arguments: [
    (#"[1,"alp"]"#, "ALP", true), (#"[1,"alp"]"#, "name", false), (#""alp""#, "lp", true),
    ("12.5", "2.", true), ("null", "ul", true), (#"{"alp":1}"#, "alp", false),
    (#"{"a":{"alp":[2]}}"#, "alp", true), ("{}", "a", false), ("{}", "", true), ("5", "", true),
    (#"{"a":""}"#, "", true),
  ])
  func `a pattern finds text in all kinds of values`(
    json: String, text: String, isMatch: Bool
  ) throws {
    #expect(try ViewPattern(text).matches(JSONElement(parsing: json)) == isMatch)
  }

  @Test func `the effect of a new pattern is true for all texts`() throws {
    let elements = try Self.names.enumerated().map { try Self.element($0, $1, 7) }
    for one in Self.texts {
      for other in Self.texts {
        let (old, new) = (ViewPattern(one), ViewPattern(other))
        for element in elements {
          switch old.effect(of: new) {
          case .any: break
          case .narrowing:
            #expect(!new.matches(element) || old.matches(element), "\(one) to \(other): \(element)")
          case .widening:
            #expect(!old.matches(element) || new.matches(element), "\(one) to \(other): \(element)")
          }
        }
      }
    }
    #expect(ViewPattern("Al").effect(of: ViewPattern("aLp")) == .narrowing)
    #expect(ViewPattern("alp").effect(of: ViewPattern("al")) == .widening)
    #expect(ViewPattern("").effect(of: ViewPattern("al")) == .narrowing)
    #expect(ViewPattern("al").effect(of: ViewPattern("")) == .widening)
    #expect(ViewPattern("al").effect(of: ViewPattern("la")) == .any)
    #expect(ViewPattern("l").effect(of: ViewPattern("l\u{301}")) == .any)
  }

  // MARK: Keys

  @Test func `a typed filter is a parameter until the prompt is closed`() {
    var model = ViewModel(source: "")
    func press(_ text: String) -> [Bool] {
      text.map { model.press(.character($0)) == .arrange }
    }
    #expect(press("fab") == [false, true, true])
    #expect(model.parameters.filter == ViewFilter("ab") && model.isTypingFilter)
    #expect(model.press(.escape) == .arrange)
    #expect(model.parameters.filter == ViewFilter("") && !model.isTypingFilter)
    #expect(press("fa") == [false, true])
    #expect(model.press(.enter) == nil)
    #expect(model.parameters.filter == ViewFilter("a") && model.filter == "a")
    #expect(press("f") == [false])
    #expect(model.press(.backspace) == .arrange)
    #expect(model.parameters.filter == ViewFilter(""))
    #expect(model.press(.backspace) == .arrange)
    #expect(model.parameters.filter == ViewFilter("a") && model.mode == .list)
    #expect(press("/b") == [false, false])
    #expect(model.press(.enter) == .search("b", isBackward: false))
    #expect(press(":filter c") == Array(repeating: false, count: 9))
    #expect(model.press(.enter) == .arrange)
    #expect(model.parameters.filter == ViewFilter("c"))
  }

  @Test func `Escape removes a message, and otherwise releases the chosen row`() {
    var model = ViewModel(source: "")
    model.showError("no row contains x")
    #expect(model.press(.escape) == nil && model.message == nil)
    #expect(model.press(.character("F")) == .perform(.end) && model.followsEnd)
    #expect(model.press(.escape) == .release && !model.followsEnd)
  }

  @MainActor
  @Test func `the order of the headings is the order of the rows`() async throws {
    let source = ArrayDataSource(try (0..<50).map { try Self.element($0, "\($0)", $0) })
    let arrangement = ViewArrangement(source)
    let arranger = ViewArranger(arrangement)
    let list = TerminalListView(arrangement.lines, columns: []) { _ in }
    await arrangement.lines.flush()
    var first: Int? { list.state.contents.first?.row?.element["id"]?.integer }
    // An observer holds each change of the rows, as a sort of many rows would.
    let (isHeld, isReleased) = (Shared(false), Signpost())
    let hold = arrangement.rows.observe { _ in
      if isHeld.value { isReleased.pass() }
    }
    defer { hold.dispose() }
    isHeld.value = true
    let descending = Parameters(order: ViewOrder(column: "id", isDescending: true))
    let (ends, end) = AsyncStream<Void>.makeStream()
    let requested = Shared(descending)
    arranger.arrange({ requested.value }, onEnd: { end.yield() })
    // Another request while the first one is held.
    for _ in 0..<10 { await Task.yield() }
    #expect(arranger.shownOrder == nil)
    #expect(first == 0)
    requested.value = Parameters(order: ViewOrder(column: "id", isDescending: false))
    arranger.arrange({ descending }, onEnd: { end.yield() })
    #expect(arranger.shownOrder == nil)
    requested.value = descending
    isHeld.value = false
    isReleased.open()
    for await _ in ends { break }
    #expect(arranger.shownOrder == descending.order)
    #expect(first == 49)
  }

  @Test func `a search that ends does not hide that rows are arranged`() throws {
    var model = ViewModel(source: "list.json")
    let list = TerminalListState<ViewLine>(columns: [])
    func status() -> String {
      model.status(
        list, ViewNumbers(Snapshot()), .loaded, size: TerminalSize(rows: 10, columns: 60)
      ).lines.map(\.text).joined()
    }
    model.columns.record(try Self.element(1, "a", 1))
    _ = model.press(.character(">"))
    model.begin(.arranging)
    model.begin(.searching)
    #expect(status().contains("arranging  searching  id ▲"))
    model.end(.searching)
    #expect(status().contains("arranging  id ▲"))
    model.end(.arranging)
    #expect(status().contains("list.json  id ▲"))
  }
}
