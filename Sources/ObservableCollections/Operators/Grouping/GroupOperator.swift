public import Diffing
public import ReactiveSignals

/// An operator that divides its input into sections by a key.
///
/// Each element of the input has a row. `sorted` has the rows of each group side by side, each group in the order of
/// the input.
@usableFromInline
struct GroupOperator<Key: Hashable & Sendable, Element: Differentiable & Sendable>:
  CollectionOperator
{
  @usableFromInline typealias Output = ListSection<Key, Element>
  @usableFromInline typealias Group = KeyedGroup<Key, Element>

  @usableFromInline let input: CollectionInput<Element>
  @usableFromInline var key: @Sendable (Element) -> Key
  /// The order of the sections, or `nil` for the order of their first elements.
  @usableFromInline var order: ElementOrder<Key>?
  /// The parameter that the key is the value of.
  @usableFromInline let keyInput: PropertyInput<@Sendable (Element) -> Key>?
  /// The parameter that the order is the value of.
  @usableFromInline let orderInput: PropertyInput<ElementOrder<Key>>?
  @usableFromInline let directory: GroupDirectory<Key, Element>
  /// The groups that have elements, by number.
  @usableFromInline var groups = RowValues<Group>()
  /// The group of each row.
  @usableFromInline var groupOfRow = RowValues<UInt32>()
  /// The rows in the order of the input.
  @usableFromInline var source = RowTree()
  /// The rows by group, and then in the order of the input.
  @usableFromInline var sorted = RowTree()
  /// The numbers of the groups in the order of the output.
  @usableFromInline var sections = RowTree()
  /// The groups that have elements, by the hash value of their keys. If several have the same one, one of them.
  @usableFromInline var groupOfHash: [Int: Group] = [:]
  /// The groups that are being edited.
  @usableFromInline var touched: [Group] = []

  @inlinable
  init(
    input: CollectionInput<Element>, key: @escaping @Sendable (Element) -> Key,
    keyInput: PropertyInput<@Sendable (Element) -> Key>? = nil, order: ElementOrder<Key>?,
    orderInput: PropertyInput<ElementOrder<Key>>? = nil, directory: GroupDirectory<Key, Element>
  ) {
    self.input = input
    self.key = key
    self.keyInput = keyInput
    self.order = order
    self.orderInput = orderInput
    self.directory = directory
  }

  @inlinable
  mutating func start(_ output: CollectionDraft<Output>) {
    if let keyInput { key = keyInput.value }
    if let orderInput { order = orderInput.value }
    let elements = input.snapshot.array
    build(elements, elements.map { group(for: key($0)) }, output)
  }

  @inlinable
  mutating func update(_ output: CollectionDraft<Output>) {
    directory.parts.changed.removeAll(keepingCapacity: true)
    let newOrder = orderInput.flatMap { $0.isSet ? $0.value : nil }
    if let keyInput, keyInput.isSet {
      key = keyInput.value
      order = newOrder ?? order
      let elements = input.snapshot.array
      return build(elements, elements.map { group(for: key($0)) }, output)
    }
    if let change = input.change {
      if change.changeset.changeCount > max(16, source.count / 16) {
        rebuild(change, output)
      } else {
        follow(change)
        publish(output)
      }
    }
    if let newOrder {
      order = newOrder
      reorder(output)
    }
  }

  // MARK: A few changes

  /// Follows a change in the rows and in the elements of the groups.
  @inlinable
  mutating func follow(_ change: CollectionChange<Element>) {
    let (changeset, after) = (change.changeset, change.after)
    if changeset.changeCount == 1, let move = changeset.moves.first { return followMove(move) }
    var moved: [Int: UInt32] = [:]
    for move in changeset.moves { moved[move.from] = source[move.from] }
    for offset in changeset.removals.reversed() {
      let row = source.remove(at: offset)
      leave(row)
      if moved[offset] == nil { groupOfRow.remove(row) }
    }
    var move = 0
    func arrive(_ row: UInt32, at offset: Int) {
      source.insert(row, at: offset)
      enter(row, after[offset])
    }
    for offset in changeset.insertions {
      while move < changeset.moves.count, changeset.moves[move].to < offset {
        if let row = moved[changeset.moves[move].from] { arrive(row, at: changeset.moves[move].to) }
        move += 1
      }
      arrive(groupOfRow.insert(group(for: key(after[offset])).number), at: offset)
    }
    for move in changeset.moves[move...] {
      if let row = moved[move.from] { arrive(row, at: move.to) }
    }
    for update in changeset.updates {
      let (row, element) = (source[update.to], after[update.to])
      let (old, newKey) = (groups[groupOfRow[row]], key(element))
      if sameIdentity(old.key, newKey) {
        draft(of: old)[rank(of: row, in: old)] = element
      } else {
        leave(row)
        groupOfRow[row] = group(for: newKey).number
        enter(row, element)
      }
    }
  }

  /// Follows the move of one row, which stays in its group.
  @inlinable
  mutating func followMove(_ move: Changeset.Move) {
    let row = source.remove(at: move.from)
    source.insert(row, at: move.to)
    let group = groups[groupOfRow[row]]
    let (draft, source) = (draft(of: group), source)
    let start = sorted.offset(of: group.firstRow)
    let from = sorted.remove(row) - start
    let others = start..<start + draft.count - 1
    let to = sorted.insert(row, in: others) { source.isBefore(row, $0) } - start
    if from == 0 || to == 0 {
      group.firstRow = sorted[start]
      group.isDisplaced = true
    }
    draft.move(from: from, to: to)
  }

  /// Removes a row from its group.
  @inlinable
  mutating func leave(_ row: UInt32) {
    let group = groups[groupOfRow[row]]
    let draft = draft(of: group)
    if row == group.firstRow {
      let start = sorted.remove(row)
      draft.removeSubrange(0..<1)
      group.firstRow = draft.count > 0 ? sorted[start] : .max
      group.isDisplaced = true
    } else {
      let start = sorted.offset(of: group.firstRow)
      let rank = sorted.remove(row) - start
      draft.removeSubrange(rank..<rank + 1)
    }
  }

  /// Inserts a row into its group, at its place in the order of the input.
  @inlinable
  mutating func enter(_ row: UInt32, _ element: Element) {
    let group = groups[groupOfRow[row]]
    let (draft, source) = (draft(of: group), source)
    // The rows of an empty group can be at any place.
    let start = draft.count == 0 ? sorted.count : sorted.offset(of: group.firstRow)
    let offset = sorted.insert(row, in: start..<start + draft.count) { source.isBefore(row, $0) }
    if offset == start {
      group.firstRow = row
      group.isDisplaced = true
    }
    draft.insert(element, at: offset - start)
  }

  /// The offset of a row in its group.
  @inlinable
  func rank(of row: UInt32, in group: Group) -> Int {
    row == group.firstRow ? 0 : sorted.offset(of: row) - sorted.offset(of: group.firstRow)
  }

  /// Returns the group of a key, which has a number now.
  @inlinable
  mutating func group(for key: Key) -> Group {
    let hash = key.hashValue
    if let group = groupOfHash[hash], sameIdentity(group.key, key) { return group }
    while true {
      let group = directory.group(for: key, hash)
      if group.number != .max { return group }
      if group.beginUse() {
        group.number = groups.insert(group)
        groupOfHash[hash] = group
        return group
      }
    }
  }

  /// The draft of a group.
  @inlinable
  mutating func draft(of group: Group) -> CollectionDraft<Element> {
    if let draft = group.draft { return draft }
    let draft = CollectionDraft(group.newest.version)
    group.draft = draft
    touched.append(group)
    return draft
  }

  // MARK: The output

  /// Edits the output after the groups have been edited.
  @inlinable
  mutating func publish(_ output: CollectionDraft<Output>) {
    let edited = touched
    touched = []
    /// The groups that need another place.
    var displaced: [Group] = []
    /// The groups that have changed, and stay at their places.
    var changed: [Group] = []
    for group in edited {
      let isEmpty = group.draft?.count == 0
      let isNew = !sections.contains(group.number)
      let isChanged = endDraft(of: group)
      if isEmpty {
        if !isNew { removeSection(of: group, output) }
        end(group)
      } else if isNew || group.isDisplaced && dependsOnFirstElement(group) {
        if !isNew { removeSection(of: group, output) }
        displaced.append(group)
      } else if isChanged {
        changed.append(group)
      }
      group.isDisplaced = false
    }
    updateSections(of: changed, output)
    for group in displaced { output.insert(group.newest, at: place(group)) }
  }

  /// Updates the sections of groups.
  @inlinable
  func updateSections(of changed: [Group], _ output: CollectionDraft<Output>) {
    if let group = changed.first, changed.count == 1 {
      output[sections.offset(of: group.number)] = group.newest
    } else if changed.count > 1 {
      // One edit, because combining several takes longer than the edits (`PipelineBenchmarks sections change`).
      var sorted = changed.map { (offset: sections.offset(of: $0.number), section: $0.newest) }
      sorted.sort { $0.offset < $1.offset }
      let updates = sorted.map { Changeset.Update(from: $0.offset, to: $0.offset) }
      output.apply(Changeset(updates: updates), inserted: [], updated: sorted.map(\.section))
    }
  }

  /// Ends the draft of a group, and returns whether its elements have changed.
  @inlinable
  func endDraft(of group: Group) -> Bool {
    guard let draft = group.draft else { return false }
    group.draft = nil
    let section = group.newest
    guard let changeset = draft.outcome(from: section.elements) else {
      withExtendedLifetime(section.version.restore()) {}
      return false
    }
    group.newest = ListSection(SectionVersion(after: section.version, draft.contents, changeset))
    directory.parts.changed.append(group.followers)
    return true
  }

  /// Returns whether the place of a section depends on its first element. A given order may leave that open.
  @inlinable
  func dependsOnFirstElement(_ group: Group) -> Bool {
    guard let order else { return true }
    let offset = sections.offset(of: group.number)
    return [offset - 1, offset + 1].contains { neighbor in
      if neighbor < 0 || neighbor >= sections.count { return false }
      let key = groups[sections[neighbor]].key
      return !order.precedes(key, group.key) && !order.precedes(group.key, key)
    }
  }

  @inlinable
  mutating func removeSection(of group: Group, _ output: CollectionDraft<Output>) {
    let offset = sections.remove(group.number)
    output.removeSubrange(offset..<offset + 1)
  }

  /// Ends the use of a group that has no elements any more.
  @inlinable
  mutating func end(_ group: Group) {
    groups.remove(group.number)
    if groupOfHash[group.hash] === group { groupOfHash[group.hash] = nil }
    group.number = .max
    group.firstRow = .max
    group.endUse()
  }

  /// Inserts a group at its place in the output, and returns its offset.
  @inlinable
  mutating func place(_ group: Group) -> Int {
    let (groups, source) = (groups, source)
    return sections.insert(group.number) { other in
      let other = groups[other]
      if let order {
        if order.precedes(group.key, other.key) { return true }
        if order.precedes(other.key, group.key) { return false }
      }
      return source.isBefore(group.firstRow, other.firstRow)
    }
  }

  // MARK: Many changes

  /// Follows a change of so many elements that visiting all of them takes less time.
  @inlinable
  mutating func rebuild(_ change: CollectionChange<Element>, _ output: CollectionDraft<Output>) {
    let (changeset, elements) = (change.changeset, change.after.array)
    let origins = changeset.origins(oldCount: source.count)
    let old = source.rows.map { groups[groupOfRow[$0]] }
    var update = 0
    let groupOfElement = elements.indices.map { offset -> Group in
      let isUpdated =
        update < changeset.updates.count && changeset.updates[update].to == offset
      if isUpdated { update += 1 }
      if origins[offset] >= 0, !isUpdated { return old[origins[offset]] }
      return group(for: key(elements[offset]))
    }
    build(elements, groupOfElement, output)
  }

  /// Builds everything from elements and their groups.
  @inlinable
  mutating func build(
    _ elements: [Element], _ groupOfElement: [Group], _ output: CollectionDraft<Output>
  ) {
    /// The number of rows of each group, and then the end of those that are in their places.
    var ends = Array(repeating: 0, count: groups.rowCount)
    var inUse: [Group] = []
    for group in groupOfElement {
      if ends[Int(group.number)] == 0 { inUse.append(group) }
      ends[Int(group.number)] += 1
    }
    let before = Set(sections.rows)
    var start = 0
    for group in inUse {
      let count = ends[Int(group.number)]
      ends[Int(group.number)] = start
      start += count
    }
    var rows = Array(repeating: UInt32(0), count: elements.count)
    for (offset, group) in groupOfElement.enumerated() {
      rows[ends[Int(group.number)]] = UInt32(offset)
      ends[Int(group.number)] += 1
    }
    groupOfRow = RowValues(groupOfElement.map(\.number))
    source = RowTree(0..<UInt32(elements.count))
    sorted = RowTree(rows)
    start = 0
    for group in inUse {
      let end = ends[Int(group.number)]
      group.firstRow = rows[start]
      replaceElements(of: group, rows[start..<end].map { elements[Int($0)] })
      start = end
    }
    for number in before where ends[Int(number)] == 0 {
      let group = groups[number]
      replaceElements(of: group, [])
      end(group)
    }
    arrange(inUse, output)
  }

  /// Follows a change of the order.
  @inlinable
  mutating func reorder(_ output: CollectionDraft<Output>) {
    let (groups, source) = (groups, source)
    let inUse = sections.rows.map { groups[$0] }
    arrange(inUse.sorted { source.isBefore($0.firstRow, $1.firstRow) }, output)
  }

  /// Writes the sections of groups, which are in the order of their first elements.
  @inlinable
  mutating func arrange(_ groups: [Group], _ output: CollectionDraft<Output>) {
    var groups = groups
    if let order {
      // Sorting is stable, so equal keys keep the order of their first elements.
      groups.sort { order.precedes($0.key, $1.key) }
    }
    sections = RowTree(groups.map(\.number))
    output.replace(with: groups.map(\.newest))
  }

  /// Replaces the elements of a group by others.
  @inlinable
  func replaceElements(of group: Group, _ elements: [Element]) {
    let draft = CollectionDraft(group.newest.elements)
    draft.replace(with: elements)
    group.draft = draft
    _ = endDraft(of: group)
    group.isDisplaced = false
  }
}
