import Diffing
import Foundation
import ObservableCollections
import Synchronizers

/// A session as it is in the database.
///
/// A state has up to four lists, in pairs that hardly differ: the client's collection as it is and as it
/// was pushed, what was pushed and the shadow. Each pair is one list of rows with a newer and an older
/// version, so that a push writes no more than what it changes.
struct StoredSession<
  Element: Codable & Differentiable & Sendable, Version: Hashable & Codable & Sendable
>: Sendable {
  /// Its number in the tables.
  var id: Int64
  /// Told by chance, so that no two saves are taken for one.
  var save: Int64
  var version: Version?
  var push: SessionHeader<Version>.Push?
  /// Newer: the client's collection. Older: that of the push.
  var client: StoredList<Element>
  /// With a push, newer: what was pushed; older: the shadow. Without one only the shadow.
  var shadow: StoredList<Element>

  var state: SynchronizationState<Element, Version> {
    var state = SynchronizationState(
      client: client.newer, shadow: shadow.older ?? shadow.newer, version: version)
    if let push, let pushed = client.older {
      state.push = PendingPush(
        id: push.id, version: push.version, client: pushed, merged: shadow.newer)
    }
    return state
  }
}

/// A list as it is in the database.
struct StoredList<Element: Codable & Differentiable & Sendable>: Sendable {
  var newer = Snapshot<Element>()
  /// Those of the newer version, in its order.
  var rows: [StoredRow] = []
  var older: Snapshot<Element>?
  var olderCheck = ListCheck()

  /// Writes what differs from two versions.
  mutating func write(
    newer: Snapshot<Element>, older: Snapshot<Element>?, to table: RowTable<Element>
  ) throws {
    if let known = self.older {
      if let older, known.hasSameContents(as: older) {
        self.older = older
      } else {
        try dropOlder(table)
      }
    }
    if let older, self.older == nil {
      try advance(to: older, table)
      self.older = older
      olderCheck = ListCheck(rows)
    }
    try advance(to: newer, table)
  }

  private mutating func dropOlder(_ table: RowTable<Element>) throws {
    try table.dropOlder()
    for index in rows.indices { rows[index].mark = .all }
    older = nil
  }

  private mutating func advance(to target: Snapshot<Element>, _ table: RowTable<Element>) throws {
    let changes =
      newer.storage.isIdentical(to: target.storage)
      ? .empty : Changeset(from: newer, to: target)
    newer = target
    if changes.isEmpty { return }

    for offset in changes.deletions { try remove(rows[offset], table) }
    let origins = changes.origins(oldCount: rows.count)
    let moved = Set(changes.moves.map(\.to))
    let updated = Set(changes.updates.map(\.to))
    var ranks = origins.indices.map { offset -> Int64? in
      origins[offset] < 0 || moved.contains(offset) ? nil : rows[origins[offset]].rank
    }
    Ranks.fill(&ranks)
    var written: [StoredRow] = []
    written.reserveCapacity(origins.count)
    for (offset, (origin, rank)) in zip(origins, ranks).enumerated() {
      guard let rank else { preconditionFailure("row \(offset) of \(origins.count) has no rank") }
      if origin >= 0, rows[origin].rank == rank, !updated.contains(offset) {
        written.append(rows[origin])
      } else {
        let row = origin < 0 ? nil : rows[origin]
        written.append(try place(target[offset], at: rank, over: row, table))
      }
    }
    rows = written
  }

  private func remove(_ row: StoredRow, _ table: RowTable<Element>) throws {
    if older != nil, row.mark == .all {
      try table.leaveToOlder(row)
    } else {
      try table.delete(row)
    }
  }

  private func place(
    _ element: Element, at rank: Int64, over row: StoredRow?, _ table: RowTable<Element>
  ) throws -> StoredRow {
    // What the older version shares must stay as it is.
    if let row, older != nil, row.mark == .all { try table.leaveToOlder(row) }
    if let row, older == nil || row.mark != .all {
      return try table.update(row, element, rank: rank)
    }
    return try table.insert(element, rank: rank, mark: older == nil ? .all : .newerOnly)
  }
}
