import DataSourceTesting
import Diffing
import ListViews
import ObservableCollections
import ReactiveSignals
import Testing

/// What the guide to list views shows.
@Suite @MainActor struct GuideTests {
  /// A page that does what it is told.
  private final class Page {
    private(set) var lines: [String] = []
    private(set) var messages: [PageMessage] = []

    func receive(_ message: PageMessage) {
      messages.append(message)
      switch message {
      case .clear: lines = []
      case .insert(let line, let offset): lines.insert(line, at: offset)
      case .replace(let line, let offset): lines[offset] = line
      case .remove(let offset): lines.remove(at: offset)
      }
    }
  }

  @Test func thePageShowsWhatASourceHolds() async {
    let page = Page()
    let view = PageView { page.receive($0) }
    let names = CollectionProperty(["Ada", "Grace", "Edsger"])
    let binding = names.bind(to: view) { [unowned view] rows in view.rows = rows }
    #expect(page.lines == ["Ada", "Grace", "Edsger"])
    await names.flush()
    names.replace(with: ["Edsger", "Ada", "Alan"])
    await names.flush()
    #expect(page.lines == ["Edsger", "Ada", "Alan"])
    #expect(
      page.messages.dropFirst(4)
        == [
          .remove(at: 1), .remove(at: 0), .insert("Ada", at: 1), .insert("Alan", at: 2),
        ])
    binding.dispose()
  }

  @Test func thePagePassesTheCheck() async throws {
    var page = Page()
    try await checkSink(
      makeView: {
        page = Page()
        return PageView { [page] in page.receive($0) }
      },
      setData: { view, rows in view.rows = rows.map(\.description) },
      shown: { _ in page.lines },
      cell: { $0.description })
  }

  @Test func theTableViewPassesTheCheck() async throws {
    var tableView: UITableView?
    try await checkSectionedSink(
      seeds: 0..<4,
      makeView: {
        let view = UITableView()
        tableView = view
        return view
      },
      setData: { view, sections in view.sections = sections },
      shown: { $0.strict.shown },
      heading: { $0 },
      cell: { $0 })
    try #require(tableView).strict.check()
    #expect(tableView.map { $0.strict.batchCount > 0 } == true)
  }
}
