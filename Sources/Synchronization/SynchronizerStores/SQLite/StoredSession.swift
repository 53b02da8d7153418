import Diffing
import Foundation
import ObservableCollections
import Synchronizers

/// A session in the database.
///
/// A state has up to four lists: the client now, the client at the time of the push, the pushed
/// contents, and the shadow. The first two lists are similar, and so are the last two. The database
/// therefore stores two lists of rows, each with a newer and an older version, and a push writes only
/// the rows that differ.
struct StoredSession<
  Element: Codable & Differentiable & Sendable, Version: Hashable & Codable & Sendable
>: Sendable {
  /// The number of the session in the tables.
  var id: Int64
  /// The random number of the last save, which identifies the save.
  var save: Int64
  var version: Version?
  var push: SessionHeader<Version>.Push?
  /// The contents of the client. The older version has the contents at the time of the push.
  var client: StoredList<Element>
  /// The shadow. During a push, the older version is the shadow, and the newer one has the pushed
  /// contents.
  var shadow: StoredList<Element>

  var state: SynchronizationState<Element, Version> {
    var state = SynchronizationState(
      client: client.newer, shadow: shadow.older ?? shadow.newer, version: version)
    if let push, let pushed = client.older {
      state.push = SynchronizationState.PendingPush(
        id: push.id, version: push.version, client: pushed, merged: shadow.newer)
    }
    return state
  }
}

/// A list in the database.
struct StoredList<Element: Codable & Differentiable & Sendable>: Sendable {
  var newer = Snapshot<Element>()
  /// The rows of the newer version, in order.
  var rows: [StoredElement] = []
  var older: Snapshot<Element>?
  var olderCheck = ListCheck()

  /// Writes the differences between the stored versions and two new versions.
  mutating func write(
    newer: Snapshot<Element>, older: Snapshot<Element>?, to table: RowTable<Element>
  ) throws {
    if let known = self.older {
      if let older, known.hasSameContents(as: older) {
        self.older = older
      } else {
        try removeOlder(table)
      }
    }
    if let older, self.older == nil {
      try advance(to: older, table)
      self.older = older
      olderCheck = ListCheck(rows)
    }
    try advance(to: newer, table)
  }

  private mutating func removeOlder(_ table: RowTable<Element>) throws {
    try table.removeOlder()
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
    var written: [StoredElement] = []
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

  private func remove(_ row: StoredElement, _ table: RowTable<Element>) throws {
    if older != nil, row.mark == .all {
      try table.keepForOlder(row)
    } else {
      try table.delete(row)
    }
  }

  private func place(
    _ element: Element, at rank: Int64, over row: StoredElement?, _ table: RowTable<Element>
  ) throws -> StoredElement {
    // A row that the older version shares must stay unchanged.
    if let row, older != nil, row.mark == .all { try table.keepForOlder(row) }
    if let row, older == nil || row.mark != .all {
      return try table.update(row, element, rank: rank)
    }
    return try table.insert(element, rank: rank, mark: older == nil ? .all : .newerOnly)
  }
}

/// The known data of a row that has an element of a list.
struct StoredElement: Sendable, Hashable {
  /// The versions of a list that have a row. There is an older version only while a push is pending.
  enum Mark: Int64, Sendable {
    /// The newer version, and the older one if it exists.
    case all = 0
    case newerOnly = 1
    case olderOnly = 2
  }

  var id: Int64
  /// The rank, which gives the order of the rows.
  var rank: Int64
  var mark: Mark
  /// A checksum of the rank and the element.
  var check: UInt64

  static func check(rank: Int64, element: String) -> UInt64 {
    var sum = Checksum()
    withUnsafeBytes(of: rank.littleEndian) { sum.add($0) }
    sum.add(element.utf8)
    return sum.value
  }
}

/// A check that detects damaged rows of a list: the number of rows and the sum of their checksums.
struct ListCheck: Codable, Hashable, Sendable {
  var count = 0
  var sum: UInt64 = 0

  init() {}

  init(_ rows: some Sequence<StoredElement>) {
    for row in rows { add(row.check) }
  }

  mutating func add(_ check: UInt64) {
    count += 1
    sum &+= check
  }
}
