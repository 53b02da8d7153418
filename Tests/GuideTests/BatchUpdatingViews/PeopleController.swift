import DataSourceTesting
import Diffing
import ListViews
import ObservableCollections
import ReactiveSignals

// The same code as in the guide to list views, with models of UIKit's classes. It is only compiled.

@MainActor private let source = ArrayDataSource<TestElement>()

extension PeopleController {
  typealias Person = TestElement
}

extension OtherExamples {
  typealias Person = TestElement
  typealias Shelf = String
  typealias Product = TestElement
  typealias Album = ArraySection<String, TestElement>
}

/// An element whose sections are known.
struct Track: Identifiable, Hashable, Sendable, Differentiable {
  let id: Int
  var album: String
}

@MainActor
class UITableViewController {
  let tableView = UITableView()
  func viewDidLoad() {}
}

final class PeopleController: UITableViewController {
  private var people: [Person] = []
  private var binding: Disposable?

  override func viewDidLoad() {
    super.viewDidLoad()
    binding = source.bind(to: tableView) { [weak self] people in self?.people = people }
  }
}

private final class OtherExamples: UITableViewController {
  private var albums: [Album] = []
  private var sections: [ListSection<String, Track>] = []
  private var rows: [Person] = []
  private var binding: Disposable?

  func sections(of tracks: ArrayDataSource<Track>) {
    binding = tracks.sections(by: \.album).bind(to: tableView) { [weak self] sections in
      self?.sections = sections
    }
  }

  func sections(tracks: ArrayDataSource<TestElement>) {
    @Sendable func albums(of tracks: Snapshot<TestElement>) -> [Album] {
      [Album(model: "All", elements: tracks)]
    }
    binding = tracks.bind(to: tableView, sections: albums(of:)) { [weak self] albums in
      self?.albums = albums
    }
  }

  func sections(albums: ArrayDataSource<Album>) {
    binding = albums.bind(to: tableView) { [weak self] albums in self?.albums = albums }
  }

  func stages(newRows: [Person]) async {
    let stages = StagedChangeset(from: rows, to: newRows)
    let isFinished = await tableView.reloadAndFinish(
      using: stages, interrupt: { $0.changeCount > 100 }
    ) { rows in
      self.rows = rows
    }
    _ = isFinished
  }

  func proposals(newShelves: [ArraySection<Shelf, Product>]) async {
    let list = SectionedListDataSource<ArraySection<Shelf, Product>>()
    list.proposalHandler = { [weak tableView] proposal in
      if let tableView { list.commit(proposal, to: tableView) }
    }
    await list.proposeConcurrently(newShelves)  // computed off the main actor

    let product = list.item(at: .init(section: 2, element: 0))  // nil if out of range
    _ = product
  }
}
