import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import SwappablePrimitives
import TestSupport
import TestTags
import Testing

@Suite struct OutlineTests {
  // MARK: Rules O1 and O6

  /// With few identities, there are missing parents, cycles and duplicates all the time.
  @Sendable private static func parent(_ element: TestElement) -> Int? {
    element.content == 0 ? nil : element.content
  }

  @Test(.reaches(.changes)) func `an outline follows its input, whatever is done to it`() throws {
    let calls = Shared(0)
    try checkOperator(
      {
        $0.outline(parent: { element in
          calls.modify { $0 += 1 }
          return Self.parent(element)
        })
      }, is: { outlineRows($0, parent: Self.parent) }, seeds: 0..<(TestRun.isLong ? 60 : 20),
      calls: { calls.value })
  }

  @Test(.reaches(.changes)) func `an outline follows its input and its expansion`() throws {
    try checkOperator(
      overSeveralInputs: { first, second, value in
        first.concatenated(with: second).outline(
          parent: Self.parent, isExpanded: value.map(Self.expansion))
      },
      is: { first, second, value in
        outlineRows(
          first + second, parent: Self.parent, isExpanded: { Self.expansion(value)[$0] })
      }, seeds: 0..<(TestRun.isLong ? 80 : 27))
  }

  @Sendable private static func expansion(_ value: Int) -> OutlineRow<TestElement>.Expansion {
    switch value {
    case 0: .all
    case 1: OutlineRow.Expansion([0, 1, 3, 5, 8])
    case 2: OutlineRow.Expansion([1, 2, 3, 4, 5, 6])
    default: OutlineRow.Expansion(allExcept: [1, 3])
    }
  }

  @Test(.reaches(.changes), arguments: [40, 400])
  func `random trees are edited and expanded at once`(size: Int) throws {
    for seed in UInt64(0)..<(size > 100 ? 8 : 40) {
      let isDeep = seed % 3 == 0
      var editor = RandomEditor<Folder>(
        seed: seed, size: size, editsPerStep: seed % 4 == 1 ? size / 2 : 3,
        make: { random in
          let id = random.below(seed % 2 == 0 ? size : 10_000)
          return Folder(
            id, in: random.oneIn(8) ? nil : isDeep ? id - 1 : random.below(size),
            name: random.below(9))
        },
        change: { folder, random in
          if random.oneIn(2) {
            folder.name = random.below(9)
          } else {
            folder.parent = random.oneIn(5) ? nil : random.below(size)
          }
        })
      let folders = ArrayDataSource(editor.makeElements())
      let expansion = Property(Expansion())
      let rows = folders.outline(parent: \.parent, isExpanded: expansion)
      let events = RecordingObserver(rows, seed: seed)
      for step in 0..<60 {
        let count = events.eventCount
        try withTransaction {
          if !editor.random.oneIn(4) { try editor.step(folders) }
          if editor.random.oneIn(2) {
            expansion.modify { expansion in
              for _ in 0...editor.random.below(4) { expansion[editor.random.below(size)].toggle() }
            }
          } else if editor.random.oneIn(12) {
            expansion.value = editor.random.oneIn(2) ? .all : Expansion()
          }
        }
        #expect(events.eventCount <= count + 1, "seed \(seed), step \(step)")
        let expected = outlineRows(folders.snapshot, expansion.value)
        try #require(Array(rows.snapshot) == expected, "seed \(seed), step \(step)")
      }
      try events.check(against: rows)
      Coverage.note(events)
    }
  }

  @Test func `each change between short trees, in each state of expansion`() throws {
    // Each element names no parent or one of three, one of which may be missing, so there are all kinds of cycles.
    var lists: [[Folder]] = [[]]
    for (ids, parents) in [
      ([1, 2, 3], [nil, 1, 2, 3]), ([3, 1], [nil, 1, 2, 3]), ([1, 2, 1], [nil, 1, 2]),
    ] as [([Int], [Int?])] {
      var named: [[Folder]] = [[]]
      for id in ids {
        named = named.flatMap { list in parents.map { list + [Folder(id, in: $0)] } }
      }
      lists += named
    }
    let folders = ArrayDataSource<Folder>()
    let expansion = Property(Expansion())
    let rows = folders.outline(parent: \.parent, isExpanded: expansion)
    let events = RecordingObserver(rows, keeps: 3)
    let expansions: [Expansion] = [
      .all, Expansion([1]), Expansion([2, 3]),
    ]
    var number = 0
    // An ordinary run takes one of five changes.
    let stride = TestRun.isLong ? 1 : 5
    for (row, before) in lists.enumerated() {
      for (column, after) in lists.enumerated() where (row + column) % stride == 0 {
        number += 1
        withTransaction {
          folders.replace(with: before)
          expansion.value = expansions[number % 3]
        }
        withTransaction {
          folders.replace(with: after)
          if number % 2 == 0 { expansion.value = expansions[number / 2 % 3] }
        }
        try #require(
          Array(rows.snapshot) == outlineRows(after, expansion.value), "from \(before) to \(after)")
      }
    }
    try events.check(against: rows)
  }

  @Test func `an outline equals the function in its documentation`() {
    for seed in UInt64(0)..<300 {
      var random = SeededGenerator(seed: seed)
      let folders = (0..<random.below(9)).map { _ in
        Folder(random.below(7), in: random.oneIn(4) ? nil : random.below(8))
      }
      let expansion = Expansion(Set((0..<5).map { _ in random.below(7) }))
      let rows = ArrayDataSource(folders)
        .outline(parent: \.parent, isExpanded: Property(expansion))
      #expect(
        Array(rows.snapshot) == documentedOutline(folders, parent: \.parent, expansion),
        "seed \(seed)")
    }
  }

  // MARK: Exact changes

  private struct Tree {
    let folders: ArrayDataSource<Folder>
    let expansion: Property<Expansion>
    let rows: LiveCollection<OutlineRow<Folder>>
    let events: RecordingObserver<OutlineRow<Folder>>

    init(_ folders: [Folder], expanded: Expansion = .all) {
      self.folders = ArrayDataSource(folders)
      expansion = Property(expanded)
      rows = self.folders.outline(parent: \.parent, isExpanded: expansion)
      events = RecordingObserver(rows)
    }

    var text: String { ObservableCollectionsTests.text(rows.snapshot) }

    /// Checks all events, and returns their changesets.
    func changesets() throws -> [Changeset] {
      try events.check(against: rows)
      #expect(Array(rows.snapshot) == outlineRows(folders.snapshot, expansion.value))
      return events.changes.map(\.changeset)
    }
  }

  private static let folders = [
    Folder(1), Folder(2), Folder(3, in: 1), Folder(4, in: 1), Folder(5, in: 3), Folder(6, in: 2),
  ]

  @Test func `collapsing and expanding are one change each`() throws {
    let tree = Tree(Self.folders)
    #expect(tree.text == "1 .3 ..5 .4 2 .6")
    tree.expansion.modify { $0[1] = false }
    #expect(tree.text == "1+ 2 .6")
    tree.expansion.modify { $0[1].toggle() }
    #expect(tree.text == "1 .3 ..5 .4 2 .6")
    #expect(
      try tree.changesets() == [
        Changeset(deletions: [1, 2, 3], updates: [.init(from: 0, to: 0)]),
        Changeset(insertions: [1, 2, 3], updates: [.init(from: 0, to: 0)]),
      ])
  }

  @Test func `what is expanded inside a collapsed element stays so`() throws {
    let tree = Tree(Self.folders, expanded: Expansion([3]))
    #expect(tree.text == "1+ 2+")
    tree.expansion.modify { $0[1] = true }
    #expect(tree.text == "1 .3 ..5 .4 2+")
    tree.expansion.value = .all
    #expect(tree.text == "1 .3 ..5 .4 2 .6")
    #expect(try tree.changesets().count == 2)
  }

  @Test func `toggling a leaf or a missing element is no event`() throws {
    let tree = Tree(Self.folders)
    tree.expansion.modify { $0[5] = false }
    tree.expansion.modify { $0[77] = false }
    #expect(try tree.changesets() == [])
  }

  @Test func `an element that gets another parent moves with its subtree by one change`() throws {
    let tree = Tree(Self.folders)
    tree.folders.update(at: 2) { $0.parent = 2 }
    #expect(tree.text == "1 .4 2 .3 ..5 .6")
    let changeset = try tree.changesets()[0]
    #expect(changeset.deletions == [] && changeset.insertions == [])
    #expect(changeset.moves.count == 2)
  }

  @Test func `a moved element takes its subtree along`() throws {
    let tree = Tree(Self.folders)
    tree.folders.move(from: 0, to: 1)
    #expect(tree.text == "2 .6 1 .3 ..5 .4")
    #expect(try tree.changesets().map(\.moves.count) == [2])
    tree.folders.move(from: 5, to: 2)
    #expect(try tree.changesets().count == 1)
  }

  @Test func `an element waits as a root for its parent`() throws {
    let tree = Tree([Folder(3, in: 1), Folder(4, in: 3), Folder(5, in: 1)])
    #expect(tree.text == "3 .4 5")
    tree.folders.append(Folder(1))
    #expect(tree.text == "1 .3 ..4 .5")
    let changeset = try tree.changesets()[0]
    #expect(changeset.insertions == [0] && changeset.deletions == [] && changeset.moves == [])
  }

  @Test func `the children of a deleted parent become roots`() throws {
    let tree = Tree(Self.folders)
    tree.folders.remove(at: 0)
    #expect(tree.text == "2 .6 3 .5 4")
    let changeset = try tree.changesets()[0]
    #expect(changeset.deletions == [0] && changeset.insertions == [])
  }

  @Test func `the deletion of a subtree is one change`() throws {
    let tree = Tree(Self.folders)
    tree.folders.removeAll { [1, 3, 4, 5].contains($0.id) }
    #expect(try tree.changesets() == [Changeset(deletions: [0, 1, 2, 3])])
  }

  @Test func `each element of a cycle is a root, and none is lost`() throws {
    let tree = Tree([Folder(1, in: 2), Folder(2), Folder(3, in: 1), Folder(4, in: 3)])
    #expect(tree.text == "2 .1 ..3 ...4")
    tree.folders.update(at: 1) { $0.parent = 3 }
    #expect(tree.text == "1 2 3 .4")
    tree.folders.update(at: 2) { $0.parent = nil }
    #expect(tree.text == "3 .2 ..1 .4")
    tree.folders.update(at: 2) { $0.parent = 3 }
    #expect(tree.text == "1 2 3 .4" || tree.text == "3 .2 ..1 .4")
    tree.folders.remove(at: 0)
    #expect(try tree.changesets().count >= 3)
  }

  @Test func `an element that names itself is a root`() throws {
    let tree = Tree([Folder(1, in: 1), Folder(2, in: 1), Folder(1, in: 1)])
    #expect(tree.text == "1 .2 1")
    tree.folders.update(at: 0) { $0.parent = 2 }
    #expect(tree.text == "1 2 1")
    _ = try tree.changesets()
  }

  @Test func `the first element with an identity is the parent`() throws {
    let tree = Tree([Folder(1, name: 1), Folder(1, name: 2), Folder(2, in: 1)])
    #expect(tree.text == "1 .2 1")
    tree.folders.move(from: 0, to: 1)
    #expect(tree.rows.snapshot.map(\.element.name) == [2, 0, 1])
    tree.folders.remove(at: 0)
    #expect(tree.text == "1 .2")
    tree.folders.insert(Folder(1, name: 3), at: 0)
    #expect(tree.rows.snapshot.map(\.element.name) == [3, 0, 1])
    _ = try tree.changesets()
  }

  @Test func `an element with another identity is another element`() throws {
    let tree = Tree(Self.folders)
    tree.folders[0] = Folder(9)
    #expect(tree.text == "9 2 .6 3 .5 4")
    tree.folders[0] = Folder(1)
    #expect(tree.text == "1 .3 ..5 .4 2 .6")
    _ = try tree.changesets()
  }

  @Test func `an expansion, a new parent and a move in one transaction are one event`() throws {
    let tree = Tree(Self.folders)
    withTransaction {
      tree.expansion.modify { $0[2] = false }
      tree.folders.update(at: 2) { $0.parent = 2 }
      tree.folders.move(from: 3, to: 0)
      tree.folders.append(Folder(7, in: 4))
    }
    #expect(tree.text == "1 .4 ..7 2+")
    #expect(try tree.changesets().count == 1)
  }

  @Test func `an element that is deleted and inserted in one transaction keeps its subtree`() throws
  {
    let tree = Tree(Self.folders)
    tree.folders.transaction { draft in
      let first = draft.remove(at: 0)
      draft.append(first)
    }
    #expect(tree.text == "2 .6 1 .3 ..5 .4")
    let changeset = try tree.changesets()[0]
    #expect(changeset.deletions == [] && changeset.insertions == [])
  }

  @Test func `an expansion contains exactly what is set`() {
    var expansion = OutlineRow<String>.Expansion(["a"])
    #expect(expansion["a"] && !expansion["b"])
    expansion["b"].toggle()
    expansion["a"] = false
    #expect(expansion == OutlineRow.Expansion(["b"]) && !expansion.isExpandedByDefault)
    expansion = OutlineRow.Expansion(allExcept: ["c"])
    #expect(expansion["a"] && !expansion["c"])
    expansion["c"] = true
    #expect(expansion == .all && expansion.exceptions.isEmpty)
  }

  // MARK: Large changes

  @Test func `a tree of depth 100,000 is built, edited, collapsed and expanded`() throws {
    let depth = 100_000
    let folders = ArrayDataSource((0..<depth).map { Folder($0, in: $0 - 1) })
    let expansion = Property(Expansion.all)
    let rows = folders.outline(parent: \.parent, isExpanded: expansion)
    #expect(rows.count == depth && rows[depth - 1].depth == depth - 1)
    folders.append(Folder(depth, in: depth - 1))
    #expect(rows[depth].depth == depth)
    expansion.modify { $0[10] = false }
    #expect(rows.count == 11)
    folders.update(at: depth / 2) { $0.parent = nil }
    #expect(rows.count == 11 + depth / 2 + 1)
    expansion.modify { $0[10] = true }
    #expect(rows.count == depth + 1)
    folders.update(at: depth / 2) { $0.parent = depth / 2 - 1 }
    #expect(rows.count == depth + 1 && rows[depth].depth == depth)
  }

  @Test func `all elements of a deep tree become a cycle, and then a tree again`() throws {
    let depth = 5_000
    let tree = Tree((0..<depth).map { Folder($0, in: $0 - 1) })
    tree.folders.update(at: 0) { $0.parent = depth - 1 }
    #expect(tree.rows.count == depth && tree.rows[depth - 1].depth == 0)
    tree.folders.update(at: 0) { $0.parent = nil }
    #expect(tree.rows[depth - 1].depth == depth - 1)
    try tree.events.check(against: tree.rows)
  }

  @Test func `changes across the limit of a rebuild give the same`() throws {
    for count in [1, 4, 5, 31, 32, 33, 200] {
      let tree = Tree((0..<1_000).map { Folder($0, in: $0 == 0 ? nil : ($0 - 1) / 3) })
      tree.folders.transaction { draft in
        for index in 0..<count {
          draft.update(at: 999 - index) { $0.parent = index }
          draft.update(at: 500 + index) { $0.name += 1 }
        }
      }
      tree.folders.transaction { draft in
        for _ in 0..<count { draft.remove(at: 300) }
        for index in 0..<count { draft.insert(Folder(2_000 + index, in: 7), at: 9) }
      }
      tree.expansion.modify { expansion in
        for index in 0..<count { expansion[index * 3] = false }
      }
      #expect(try tree.changesets().count == 3)
    }
  }

  @Test func `hash values that lie do no harm`() {
    let lies = ArrayDataSource((0..<300).map { Liar(id: LiarID(value: $0 % 40)) })
    let rows = lies.outline(parent: { LiarID(value: $0.id.value - 1) })
    for step in 0..<300 {
      lies.transaction { draft in
        draft.remove(at: step * 7 % draft.count)
        draft.append(Liar(id: LiarID(value: step % 50)))
        draft[step % draft.count] = Liar(id: LiarID(value: step % 13))
      }
    }
    #expect(rows.count <= 300)
  }
}

/// An identity whose hash values change from call to call.
private struct LiarID: Hashable, Sendable {
  static let calls = Shared(0)
  let value: Int

  func hash(into hasher: inout Hasher) {
    Self.calls.modify { $0 += 1 }
    hasher.combine(Self.calls.value % 3)
  }
}

private struct Liar: Differentiable, Hashable, Sendable, Identifiable {
  let id: LiarID
}
