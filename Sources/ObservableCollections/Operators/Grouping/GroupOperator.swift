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
  @usableFromInline let key: @Sendable (Element) -> Key
  /// The order of the sections, or `nil` for the order of their first elements.
  @usableFromInline let order: ElementOrder<Key>?
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
  /// The number of groups that ever had elements.
  @usableFromInline var sequence = 0
  /// The groups that are being edited.
  @usableFromInline var touched: [Group] = []

  @inlinable
  init(
    input: CollectionInput<Element>, key: @escaping @Sendable (Element) -> Key,
    order: ElementOrder<Key>?, directory: GroupDirectory<Key, Element>
  ) {
    self.input = input
    self.key = key
    self.order = order
    self.directory = directory
  }

  @inlinable
  mutating func start(_ output: CollectionDraft<Output>) {
    let elements = input.snapshot.array
    build(elements, elements.map { group(for: key($0)) }, output)
  }

  @inlinable
  mutating func update(_ output: CollectionDraft<Output>) {
    directory.parts.changed.removeAll(keepingCapacity: true)
    guard let change = input.change else { return }
    if change.changeset.changeCount > max(16, source.count / 16) {
      rebuild(change, output)
    } else {
      follow(change)
      publish(output)
    }
  }

  // MARK: A few changes

  /// Follows a change in the rows and in the elements of the groups.
  @inlinable
  mutating func follow(_ change: CollectionChange<Element>) {
    let (changeset, after) = (change.changeset, change.after)
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
      let group = group(for: key(element))
      if group.number == groupOfRow[row] {
        draft(of: group)[rank(of: row, in: group)] = element
      } else {
        leave(row)
        groupOfRow[row] = group.number
        enter(row, element)
      }
    }
  }

  /// Removes a row from its group.
  @inlinable
  mutating func leave(_ row: UInt32) {
    let group = groups[groupOfRow[row]]
    let (draft, rank) = (draft(of: group), rank(of: row, in: group))
    let offset = sorted.remove(row)
    draft.removeSubrange(rank..<rank + 1)
    if row == group.firstRow {
      group.firstRow = draft.count > 0 ? sorted[offset] : .max
      group.isDisplaced = true
    }
  }

  /// Inserts a row into its group, at its place in the order of the input.
  @inlinable
  mutating func enter(_ row: UInt32, _ element: Element) {
    let number = groupOfRow[row]
    let group = groups[number]
    let draft = draft(of: group)
    let (groups, groupOfRow, source, place) = (groups, groupOfRow, source, source.offset(of: row))
    let offset = sorted.insert(row) { other in
      let otherNumber = groupOfRow[other]
      if otherNumber == number { return place < source.offset(of: other) }
      return group.sequence < groups[otherNumber].sequence
    }
    let start = draft.count == 0 ? offset : sorted.offset(of: group.firstRow)
    if draft.count == 0 || offset < start {
      group.firstRow = row
      group.isDisplaced = true
    }
    draft.insert(element, at: max(0, offset - start))
  }

  /// The offset of a row in its group.
  @inlinable
  func rank(of row: UInt32, in group: Group) -> Int {
    row == group.firstRow ? 0 : sorted.offset(of: row) - sorted.offset(of: group.firstRow)
  }

  /// Returns the group of a key, which has a number now.
  @inlinable
  mutating func group(for key: Key) -> Group {
    while true {
      let group = directory.group(for: key)
      if group.number != .max { return group }
      if group.beginUse() {
        sequence += 1
        group.sequence = sequence
        group.number = groups.insert(group)
        return group
      }
    }
  }

  /// The draft of a group.
  @inlinable
  mutating func draft(of group: Group) -> CollectionDraft<Element> {
    if let draft = group.draft { return draft }
    let draft = CollectionDraft(group.section.elements)
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
    for group in edited {
      let isEmpty = group.draft?.count == 0
      let isNew = !sections.contains(group.number)
      let isChanged = endDraft(of: group)
      if isEmpty {
        if !isNew { removeSection(of: group, output) }
        end(group)
      } else if isNew || group.isDisplaced && order == nil {
        if !isNew { removeSection(of: group, output) }
        displaced.append(group)
      } else if isChanged {
        output[sections.offset(of: group.number)] = group.section
      }
      group.isDisplaced = false
    }
    for group in displaced { output.insert(group.section, at: place(group)) }
  }

  /// Ends the draft of a group, and returns whether its elements have changed.
  @inlinable
  func endDraft(of group: Group) -> Bool {
    guard let draft = group.draft else { return false }
    group.draft = nil
    let section = group.section
    guard let changeset = draft.outcome(from: section.elements), let step = section.step else {
      return false
    }
    group.section = ListSection(
      key: group.key, elements: draft.contents, step: SectionStep(after: step, changeset))
    directory.parts.changed.append(group.followers)
    return true
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
    group.number = .max
    group.firstRow = .max
    group.endUse()
  }

  /// Inserts a group at its place in the output, and returns its offset.
  @inlinable
  mutating func place(_ group: Group) -> Int {
    let (groups, source) = (groups, source)
    let first = source.offset(of: group.firstRow)
    return sections.insert(group.number) { other in
      let other = groups[other]
      if let order {
        if order.precedes(group.key, other.key) { return true }
        if order.precedes(other.key, group.key) { return false }
      }
      return first < source.offset(of: other.firstRow)
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
    // The elements and rows of each group, in the order of the input.
    var contents: [UInt32: (elements: [Element], rows: [UInt32])] = [:]
    var inUse: [Group] = []
    for (offset, group) in groupOfElement.enumerated() {
      if contents[group.number] == nil { inUse.append(group) }
      contents[group.number, default: ([], [])].elements.append(elements[offset])
      contents[group.number, default: ([], [])].rows.append(UInt32(offset))
    }
    let before = Set(sections.rows)
    groupOfRow = RowValues(groupOfElement.map(\.number))
    source = RowTree(0..<UInt32(elements.count))
    var rows: [UInt32] = []
    rows.reserveCapacity(elements.count)
    for group in inUse {
      sequence += 1
      group.sequence = sequence
      group.firstRow = contents[group.number]?.rows.first ?? .max
      rows += contents[group.number]?.rows ?? []
      replaceElements(of: group, contents[group.number]?.elements ?? [])
    }
    sorted = RowTree(rows)
    for number in before where contents[number] == nil {
      let group = groups[number]
      replaceElements(of: group, [])
      end(group)
    }
    if let order {
      // Sorting is stable, so equal keys keep the order of their first elements.
      inUse.sort { order.precedes($0.key, $1.key) }
    }
    sections = RowTree(inUse.map(\.number))
    output.replace(with: inUse.map(\.section))
  }

  /// Replaces the elements of a group by others.
  @inlinable
  func replaceElements(of group: Group, _ elements: [Element]) {
    let draft = CollectionDraft(group.section.elements)
    draft.replace(with: elements)
    group.draft = draft
    _ = endDraft(of: group)
    group.isDisplaced = false
  }
}
