import DataSourceTesting
import Diffing
@testable import ObservableCollections
import ReactiveSignals
import TestSupport
import TestTags
import Testing

/// Rule O7: what one change of a tree costs, counted.
@Suite struct OutlineCostTests {
  /// A tree in which each element has ten children.
  private static func folders(_ count: Int) -> ArrayDataSource<Folder> {
    ArrayDataSource((0..<count).map { Folder($0, in: $0 == 0 ? nil : ($0 - 1) / 10) })
  }

  @Test(arguments: [1_000, 100_000])
  func `the parent is read once for each changed element, and few rows are edited`(size: Int) {
    let (folders, calls) = (Self.folders(size), Shared(0))
    let expansion = Property(Expansion.all)
    let rows = folders.outline(
      parent: { folder in
        calls.modify { $0 += 1 }
        return folder.parent
      }, isExpanded: expansion)
    #expect(calls.value == size)
    let changes = Shared<[Int]>()
    let observation = rows.observe { event in
      if case .change(let change) = event { changes.append(change.changeset.changeCount) }
    }
    let domain = folders.collection.node.domain
    let visits = domain.visits
    calls.value = 0
    folders.update(at: size / 2) { $0.name = 1 }
    folders.insert(Folder(size, in: 5), at: size / 3)
    folders.remove(at: size / 3)
    folders.update(at: size - 1) { $0.parent = 6 }
    folders.move(from: 0, to: size - 1)
    #expect(calls.value == 3)
    // Ten children disappear and appear again, and the row of their parent is updated.
    expansion.modify { $0[size / 11 - 1].toggle() }
    expansion.modify { $0[size / 11 - 1].toggle() }
    #expect(calls.value == 3)
    #expect(changes.value.prefix(3) == [1, 1, 1])
    #expect(changes.value.suffix(2) == [11, 11])
    #expect(changes.value.dropFirst(3).first ?? 0 <= 3)
    #expect(domain.visits - visits == 7)
    observation.dispose()
  }

  @Test(arguments: [1_000, 100_000])
  func `a collapsed subtree moves by one row`(size: Int) throws {
    let folders = Self.folders(size)
    let rows = folders.outline(
      parent: \.parent, isExpanded: Property(Expansion([0, 1, 2])))
    let events = RecordingObserver(rows)
    folders.update(at: 7) { $0.parent = 1 }
    #expect(events.changes.map(\.changeset.changeCount) == [2])
    try events.check(against: rows)
  }

  /// A folder that counts how often its identity is read.
  private struct CountedFolder: Differentiable, Sendable {
    let folder: Folder
    let reads: Shared<Int>

    var differenceIdentifier: Int {
      reads.modify { $0 += 1 }
      return folder.id
    }

    func isContentEqual(to source: CountedFolder) -> Bool { folder == source.folder }
  }

  @Test(arguments: [1_000, 100_000])
  func `the rows below a moved element that passes no sibling are not read`(size: Int) {
    let reads = Shared(0)
    // Each tenth element is below the one before it in a chain, and has nine children.
    let folders = ArrayDataSource(
      (0..<size).map { number -> CountedFolder in
        let parent = number % 10 == 0 ? number - 10 : number / 10 * 10
        return CountedFolder(folder: Folder(number, in: parent < 0 ? nil : parent), reads: reads)
      })
    let rows = folders.outline(parent: { $0.folder.parent })
    let events = Shared(0)
    let observation = rows.observe { _ in events.modify { $0 += 1 } }
    reads.value = 0
    folders.move(from: 0, to: 9)
    folders.move(from: 20, to: 25)
    withTransaction {
      folders.move(from: 9, to: 0)
      folders.move(from: 25, to: 20)
      folders.move(from: 500, to: 501)
    }
    #expect(events.value == 1)
    #expect(reads.value < 200)
    observation.dispose()
  }

  /// An outline that reports how many rows and identities it has numbered.
  private struct ObservedOutline: ~Copyable, CollectionOperator {
    var outline: OutlineOperator<Folder>
    let numbered: Shared<Int>

    mutating func start(_ output: CollectionDraft<OutlineRow<Folder>>) { outline.start(output) }

    mutating func update(_ output: CollectionDraft<OutlineRow<Folder>>) {
      outline.update(output)
      numbered.value = max(outline.forest.links.rowCount, outline.keys.identifiers.count)
    }
  }

  @Test(arguments: [1, 50, 500])
  func `an outline forgets how long its list was`(editsPerTransaction: Int) throws {
    let folders = ArrayDataSource((0..<2_000).map { Folder($0, in: $0 / 2) })
    let numbered = Shared(0)
    let rows = folders.transformed {
      ObservedOutline(
        outline: OutlineOperator(input: $0, expansion: nil, parent: \.parent), numbered: numbered)
    }
    let events = RecordingObserver(rows, keeps: 1)
    while folders.count > 20 {
      folders.transaction { draft in
        for _ in 0..<min(editsPerTransaction, draft.count - 20) {
          draft.remove(at: draft.count / 2)
        }
      }
      // Each element names one parent, which may not exist.
      #expect(numbered.value <= max(64, 8 * folders.count + 8))
    }
    folders.append(Folder(9_000, in: 3))
    #expect(Array(rows.snapshot) == outlineRows(Array(folders.snapshot), parent: \.parent))
    try events.check(against: rows)
  }
}

/// Trees that several threads edit, expand and derive lists from.
@Suite(.tags(.concurrency)) struct OutlineConcurrencyTests {
  @Test func `threads edit and expand a tree while others show it`() throws {
    let folders = ArrayDataSource((0..<60).map { Folder($0, in: $0 / 3) })
    let expansion = Property(Expansion.all)
    let rows = folders.outline(parent: \.parent, isExpanded: expansion)
    let events = RecordingObserver(rows, expectsEveryRevision: false)
    var workers = (0..<3).map { number in
      Worker {
        var random = SeededGenerator(seed: UInt64(number))
        for step in 0..<300 {
          folders.transaction { draft in
            draft.insert(
              Folder(100 * number + step % 90, in: random.below(300)),
              at: random.below(draft.count + 1))
            if draft.count > 60 { draft.remove(at: random.below(draft.count)) }
            draft.update(at: random.below(draft.count)) { $0.parent = random.below(60) }
            draft.move(from: random.below(draft.count), to: random.below(draft.count))
          }
        }
      }
    }
    workers.append(
      Worker {
        var random = SeededGenerator(seed: 9)
        for step in 0..<300 {
          expansion.modify { $0[random.below(60)].toggle() }
          if step % 40 == 0 { expansion.value = step % 80 == 0 ? .all : Expansion() }
        }
      })
    workers.append(
      Worker {
        for _ in 0..<60 {
          let other = folders.outline(parent: \.parent, isExpanded: expansion)
          let events = RecordingObserver(other, expectsEveryRevision: false)
          _ = events.snapshot.count
        }
      })
    for worker in workers { try worker.join() }
    rows.flushAndWait()
    try events.check(against: rows)
    #expect(Array(rows.snapshot) == outlineRows(folders.snapshot, expansion.value))
  }
}
