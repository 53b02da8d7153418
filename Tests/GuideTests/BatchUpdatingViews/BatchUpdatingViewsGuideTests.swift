import DataSourceTesting
import Diffing
import ListViews
import ObservableCollections
import ReactiveSignals
import TestSupport
import Testing

/// A model of a web page that applies messages.
@MainActor
final class Page {
  private(set) var lines: [String] = []

  func receive(_ message: PageMessage) {
    switch message {
    case .clear: lines = []
    case .insert(let line, let offset): lines.insert(line, at: offset)
    case .replace(let line, let offset): lines[offset] = line
    case .remove(let offset): lines.remove(at: offset)
    }
  }
}

/// The examples in the guide to list views.
@Suite @MainActor struct BatchUpdatingViewsGuideTests {
  @Test func `the code of the guide is compiled here`() throws {
    let guide = try Guide("BatchUpdatingViews")
    #expect(guide.code.count == 8)
    var missing = Set(try guide.paragraphs(missingIn: #filePath))
    for name in ["PageView", "PeopleController", "UITableView+ListViews"] {
      let file = #filePath.replacing("BatchUpdatingViewsGuideTests.swift", with: "\(name).swift")
      missing.formIntersection(try guide.paragraphs(missingIn: file))
    }
    // UIKit is another module; the model of it is not.
    #expect(missing.count == 1)
    #expect(missing.first?.hasPrefix("extension UITableView: @retroactive ") == true)
  }

  @Test func `the page shows the contents of a source`() async {
    let page = Page()
    var messages: [PageMessage] = []
    let view = PageView {
      messages.append($0)
      page.receive($0)
    }
    let names = ArrayDataSource(["Ada", "Grace", "Edsger"])
    let binding = names.bind(to: view) { [unowned view] rows in view.rows = rows }
    #expect(page.lines == ["Ada", "Grace", "Edsger"])
    await names.flush()
    names.replace(with: ["Edsger", "Ada", "Alan"])
    await names.flush()
    #expect(page.lines == ["Edsger", "Ada", "Alan"])
    #expect(
      messages.dropFirst(4)
        == [
          .remove(at: 1), .remove(at: 0), .insert("Ada", at: 1), .insert("Alan", at: 2),
        ])
    binding.dispose()
  }

  @Test @MainActor func `the page passes the check`() async throws {
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

  @Test func `the table view passes the check`() async throws {
    var tableView: UITableView?
    try await checkSectionedSink(
      seeds: 0..<4,
      makeView: {
        let view = UITableView()
        tableView = view
        return view
      },
      setData: { view, sections in view.sections = sections },
      shown: { $0.shown },
      heading: { $0 },
      cell: { $0 })
    try #require(tableView).strict.check()
    #expect(tableView.map { $0.strict.batchCount > 0 } == true)
  }
}
