import ListViews

/// A view of lines that was written in a hurry.
@MainActor
final class PlainListView: BatchUpdatingListView {
  enum Flaw: CaseIterable {
    case forgetsMoves, ignoresReloads, ignoresInsertions, ignoresReloadData
    case setsDataLate
    /// Takes out what moves behind what comes.
    case takesMovesOutLast
    case completesLate, completesTwice, neverCompletes
    case runsBlockTwice, neverRunsBlock
  }

  private let flaw: Flaw?
  private var rows: [String] = []
  private var late: [String]?
  private(set) var lines: [String] = []

  private var deletions: [Int] = []
  private var insertions: [Int] = []
  private var reloads: [Int] = []
  private var moves: [(from: Int, to: Int)] = []

  init(_ flaw: Flaw? = nil) {
    self.flaw = flaw
  }

  func set(_ rows: [String]) {
    if flaw == .setsDataLate { late = rows } else { self.rows = rows }
  }

  func reloadData() {
    if flaw != .ignoresReloadData { lines = rows }
    rows = late ?? rows
  }

  func performBatchUpdates(
    _ updates: () -> Void, completion: @escaping @MainActor (Bool) -> Void
  ) {
    (deletions, insertions, reloads, moves) = ([], [], [], [])
    if flaw != .neverRunsBlock { updates() }
    if flaw == .runsBlockTwice { updates() }
    apply()
    rows = late ?? rows
    switch flaw {
    case .neverCompletes: break
    case .completesLate: Task { completion(true) }
    default: completion(true)
    }
    if flaw == .completesTwice { completion(true) }
  }

  private func apply() {
    if flaw == .forgetsMoves { moves = [] }
    if flaw == .ignoresInsertions { insertions = [] }
    if flaw == .ignoresReloads { reloads = [] }
    func row(_ offset: Int) -> String { rows.indices.contains(offset) ? rows[offset] : "?" }
    func remove(_ offsets: [Int]) {
      for offset in offsets.sorted(by: >) where lines.indices.contains(offset) {
        lines.remove(at: offset)
      }
    }
    var arrivals = insertions.map { ($0, row($0)) }
    for move in moves {
      arrivals.append((move.to, lines.indices.contains(move.from) ? lines[move.from] : "?"))
    }
    let isLate = flaw == .takesMovesOutLast
    remove(isLate ? deletions : deletions + moves.map(\.from))
    for (offset, line) in arrivals.sorted(by: { $0.0 < $1.0 }) {
      lines.insert(line, at: min(offset, lines.count))
    }
    if isLate { remove(moves.map(\.from)) }
    for offset in reloads where lines.indices.contains(offset) { lines[offset] = row(offset) }
  }

  func deleteItems(at offsets: [Int]) { deletions += offsets }
  func insertItems(at offsets: [Int]) { insertions += offsets }
  func reloadItems(at offsets: [Int]) { reloads += offsets }
  func moveItem(at source: Int, to destination: Int) { moves.append((source, destination)) }
}
