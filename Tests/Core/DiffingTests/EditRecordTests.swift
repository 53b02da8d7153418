import DataSourceTesting
import Diffing
import TestTags
import Testing

/// Compares the combined change of single edits with the origin of each element.
@Suite struct EditRecordTests {
  private enum Edit {
    case insertion(Range<Int>)
    case removal(Range<Int>)
    case update(Int)
    case move(from: Int, to: Int)
    case changeset(Changeset)

    var changeset: Changeset {
      switch self {
      case .insertion(let range): Changeset(insertions: Array(range))
      case .removal(let range): Changeset(deletions: Array(range))
      case .update(let offset): Changeset(updates: [.init(from: offset, to: offset)])
      case .move(let source, let destination):
        Changeset(moves: [.init(from: source, to: destination)])
      case .changeset(let changeset): changeset
      }
    }
  }

  /// Where each element came from, written down edit by edit.
  private struct Model {
    var origins: [Int]
    var isUpdated: [Bool]
    let oldCount: Int

    init(_ count: Int) {
      origins = Array(0..<count)
      isUpdated = Array(repeating: false, count: count)
      oldCount = count
    }

    mutating func apply(_ edit: Edit) {
      switch edit {
      case .insertion(let range):
        origins.insert(contentsOf: repeatElement(-1, count: range.count), at: range.lowerBound)
        isUpdated.insert(contentsOf: repeatElement(false, count: range.count), at: range.lowerBound)
      case .removal(let range):
        origins.removeSubrange(range)
        isUpdated.removeSubrange(range)
      case .update(let offset):
        isUpdated[offset] = true
      case .move(let source, let destination):
        origins.insert(origins.remove(at: source), at: destination)
        isUpdated.insert(isUpdated.remove(at: source), at: destination)
      case .changeset(let changeset):
        let next = changeset.origins(oldCount: origins.count)
        (origins, isUpdated) = (
          next.map { $0 < 0 ? -1 : origins[$0] }, next.map { $0 < 0 ? false : isUpdated[$0] }
        )
        for update in changeset.updates { isUpdated[update.to] = true }
      }
    }

    var changeset: Changeset {
      Changeset(origins: origins, oldCount: oldCount) { _, new in isUpdated[new] }
    }

    /// Returns a description of the first error in a changeset, or `nil`.
    func violation(of changeset: Changeset) -> String? {
      if let violation = changeset.invariantViolation(
        oldCount: oldCount, newCount: origins.count)
      {
        return violation
      }
      if changeset.origins(oldCount: oldCount) != origins.map({ max($0, -1) }) {
        return "it pairs other elements"
      }
      if changeset.updates != self.changeset.updates { return "it updates others" }
      if changeset.moves.count != self.changeset.moves.count { return "it moves others" }
      return nil
    }
  }

  /// All edits of so many elements.
  private func allEdits(of count: Int) -> [Edit] {
    var edits: [Edit] = []
    for lower in 0...count {
      edits += [.insertion(lower..<lower + 1), .insertion(lower..<lower + 2)]
      for upper in lower..<count { edits.append(.removal(lower..<upper + 1)) }
    }
    for offset in 0..<count {
      edits.append(.update(offset))
      for destination in 0..<count where destination != offset {
        edits.append(.move(from: offset, to: destination))
      }
    }
    if count > 1 {
      edits.append(
        .changeset(
          Changeset(
            insertions: [1], moves: [.init(from: count - 1, to: 0)],
            updates: [.init(from: 0, to: 2)])))
    }
    return edits
  }

  @Test(arguments: 0..<5) func `all sequences of three edits are combined correctly`(count: Int) {
    func check(_ record: EditRecord, _ model: Model, _ edits: [Edit], _ depth: Int) {
      for edit in allEdits(of: model.origins.count) {
        var (record, model) = (record, model)
        record.append(edit.changeset)
        model.apply(edit)
        if let violation = model.violation(of: record.changeset) {
          Issue.record("\(count), \(edits + [edit]): \(record.changeset): \(violation)")
          return
        }
        if depth > 1 { check(record, model, edits + [edit], depth - 1) }
      }
    }
    check(EditRecord(), Model(count), [], count < 4 ? 3 : 2)
  }

  @Test(.reaches(.changes)) func `many random edits are combined correctly`() {
    for seed in UInt64(0)..<60 {
      var random = SeededGenerator(seed: seed)
      func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &random) }
      let size = [3, 20, 200, 2_000][Int(seed % 4)]
      var model = Model(size)
      var record = EditRecord()
      for _ in 0..<[10, 100, 1_000][Int(seed % 3)] {
        let count = model.origins.count
        let edit: Edit
        switch below(seed % 5 == 0 ? 41 : 40) {
        case 0..<10:
          let offset = below(count + 1)
          edit = .insertion(offset..<offset + 1 + below(3))
        case 10..<20 where count > 0:
          let offset = below(count)
          edit = .removal(offset..<min(count, offset + 1 + below(3)))
        case 20..<30 where count > 1:
          edit = .move(from: below(count), to: below(count))
        case 40 where count > 1:
          edit = .changeset(Changeset(moves: [.init(from: 0, to: count - 1)]))
        default:
          if count == 0 { continue }
          edit = .update(below(count))
        }
        record.append(edit.changeset)
        model.apply(edit)
      }
      Coverage.note(record.changeset)
      if let violation = model.violation(of: record.changeset) {
        Issue.record("seed \(seed): \(violation)")
        return
      }
    }
  }

  @Test func `an edit that is undone disappears`() {
    var record = EditRecord()
    #expect(record.isEmpty && record.changeset.isEmpty)
    record.append(Edit.insertion(3..<5).changeset)
    #expect(!record.isEmpty && record.changeset == Changeset(insertions: [3, 4]))
    record.append(Edit.update(4).changeset)
    record.append(Edit.removal(3..<5).changeset)
    #expect(record.changeset.isEmpty)
    record.append(Edit.move(from: 1, to: 4).changeset)
    record.append(Edit.move(from: 4, to: 1).changeset)
    #expect(record.changeset.isEmpty)
  }

  @Test func `repeated edits of the same elements need no more memory`() {
    var record = EditRecord()
    for step in 0..<10_000 {
      record.append(Edit.update(step % 10 * 3).changeset)
      record.append(Edit.insertion(step + 40..<step + 41).changeset)
    }
    #expect(record.changeset.updates.map(\.to) == (0..<10).map { $0 * 3 })
    #expect(record.changeset.insertions == Array(40..<10_040))
    #expect(record.footprint < 100)
  }

  /// Returns all sets of elements that can move to bring old offsets into order, if the others stay.
  private func moveSets(of origins: [Int], count: Int) -> [Set<Int>] {
    (0..<1 << origins.count).map { bits in
      Set(origins.filter { bits >> $0 & 1 == 1 })
    }.filter { moved in
      let rest = origins.filter { !moved.contains($0) }
      return moved.count == count && rest == rest.sorted()
    }
  }

  @Test func `the fewest moves name the elements that were moved`() {
    let places = (0..<4).flatMap { from in (0..<4).map { (from, $0) } }.filter { $0 != $1 }
    var others = 0
    for first in places {
      for second in places {
        for update in -1..<4 {
          var record = EditRecord()
          var model = Model(4)
          var touched: Set<Int> = []
          if update >= 0 {
            record.append(Edit.update(update).changeset)
            model.apply(.update(update))
          }
          for (from, to) in [first, second] {
            touched.insert(model.origins[from])
            record.append(Edit.move(from: from, to: to).changeset)
            model.apply(.move(from: from, to: to))
          }
          let changeset = record.changeset
          let named = Set(changeset.moves.map(\.from))
          let fewest = moveSets(of: model.origins, count: named.count)
            .map { $0.subtracting(touched).count }.min()
          #expect(
            named.subtracting(touched).count == fewest, "\(first) \(second): \(changeset)")
          if update < 0, !named.isSubset(of: touched) { others += 1 }
        }
      }
    }
    // In these cases, one move of another element has the same effect as both moves.
    #expect(others == 8)
  }
}

extension EditRecord {
  fileprivate var changeset: Changeset {
    var copy = self
    return copy.takeChangeset()
  }
}
