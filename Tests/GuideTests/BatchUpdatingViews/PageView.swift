import ListViews

// The same code as in the guide to list views.

/// A message to a web page, sent to its script as JSON.
enum PageMessage: Codable, Equatable {
  case clear
  case insert(String, at: Int)
  case replace(String, at: Int)
  case remove(at: Int)
}

/// A list in a web page.
@MainActor
final class PageView: BatchUpdatingListView {
  var rows: [String] = []
  private let send: (PageMessage) -> Void

  private var leaving: [Int] = []
  private var coming: [(offset: Int, message: PageMessage)] = []

  init(send: @escaping (PageMessage) -> Void) {
    self.send = send
  }

  func reloadData() {
    send(.clear)
    for (offset, row) in rows.enumerated() { send(.insert(row, at: offset)) }
  }

  func performBatchUpdates(
    _ updates: () -> Void, completion: @escaping @MainActor (_ isFinished: Bool) -> Void
  ) {
    updates()
    // Remove from the last to the first, because a removal shifts all later offsets.
    for offset in leaving.sorted(by: >) { send(.remove(at: offset)) }
    // Insert from the first to the last, because an insertion shifts all later offsets.
    for item in coming.sorted(by: { $0.offset < $1.offset }) { send(item.message) }
    (leaving, coming) = ([], [])
    completion(true)
  }

  func deleteItems(at offsets: [Int]) {
    leaving += offsets
  }

  func insertItems(at offsets: [Int]) {
    coming += offsets.map { ($0, .insert(rows[$0], at: $0)) }
  }

  func reloadItems(at offsets: [Int]) {
    // Reloads have a batch of their own, so the offsets before and after it are equal.
    coming += offsets.map { ($0, .replace(rows[$0], at: $0)) }
  }

  func moveItem(at source: Int, to destination: Int) {
    leaving.append(source)
    coming.append((destination, .insert(rows[destination], at: destination)))
  }
}
