public import Diffing
public import ReactiveSignals

/// An operator that divides its input into groups by a key.
///
/// Each element of the input has a row. Each group has the rows of its elements, in the order of the input.
@usableFromInline
struct GroupOperator<
  Key: Hashable & Sendable, Element: Differentiable & Sendable,
  Output: Differentiable & Sendable
>: ~Copyable, CollectionOperator {
  @usableFromInline typealias Group = ObservableCollections.Group<Key, Element>

  @usableFromInline let input: CollectionInput<Element>
  @usableFromInline var key: @Sendable (Element) -> Key
  /// The order of the sections, or `nil` for the order of their first elements.
  @usableFromInline var order: ElementOrder<Key>?
  /// The parameter that the key is the value of.
  @usableFromInline let keyInput: PropertyInput<@Sendable (Element) -> Key>?
  /// The parameter that the order is the value of.
  @usableFromInline let orderInput: PropertyInput<ElementOrder<Key>>?
  @usableFromInline let directory: GroupDirectory<Key, Element>
  /// What the output shows, or `nil` if it stays empty.
  @usableFromInline let view: GroupView<Key, Element, Output>?
  /// The groups that have elements, by number.
  @usableFromInline var groups = RowTable<Group>()
  /// The elements of the input, each with the number of its group.
  @usableFromInline var rows = InputRows<UInt32>()
  /// The memory of the rows of all groups.
  @usableFromInline var storage = RowStorage()
  /// The numbers of the groups in the order of the output. If it stays empty, they have any order.
  @usableFromInline var sections = RowTree()
  /// The groups that have elements, by the hash value of their keys. If several have the same one, one of them.
  @usableFromInline var groupOfHash: [Int: Group] = [:]
  /// The groups that have edits, or whose first elements have moved.
  @usableFromInline var touched: [Group] = []
  /// The draft of a previous pass, which is empty. The next group that is edited uses it again.
  // Only the thread that computes the output uses it.
  @usableFromInline nonisolated(unsafe) var closedDraft: CollectionDraft<Element>?

  @inlinable
  init(
    _ rule: GroupingRule<Key, Element>, _ inputs: OperatorInputs,
    _ directory: GroupDirectory<Key, Element>, _ view: GroupView<Key, Element, Output>?
  ) {
    input = inputs.collection(rule.source)
    (key, keyInput) = rule.key.read(inputs)
    (order, orderInput) = rule.order?.read(inputs) ?? (nil, nil)
    self.directory = directory
    self.view = view
  }

  @inlinable
  mutating func start(_ output: CollectionDraft<Output>) {
    if let keyInput { key = keyInput.value }
    if let orderInput { order = orderInput.value }
    let elements = input.snapshot.array
    build(elements, elements.map { group(for: key($0)) }, nil, output)
  }

  @inlinable
  mutating func update(_ output: CollectionDraft<Output>) {
    let newOrder = orderInput.flatMap { $0.isSet ? $0.value : nil }
    if let keyInput, keyInput.isSet {
      key = keyInput.value
      order = newOrder ?? order
      let elements = input.snapshot.array
      return build(elements, elements.map { group(for: key($0)) }, nil, output)
    }
    if let change = input.change {
      if change.changeset.isLarge(forCount: rows.count) {
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
    for offset in changeset.deletions.reversed() {
      let row = rows.order.remove(at: offset)
      let group = groups[rows.values.remove(row)]
      didLeave(group, group.remove(row))
    }
    for move in changeset.sequentialMoves { followMove(move) }
    for offset in changeset.insertions {
      let group = group(for: key(after[offset]))
      let row = rows.values.insert(group.number)
      rows.order.insert(row, at: offset)
      enter(group, row, after[offset])
    }
    for update in changeset.updates { followUpdate(at: update.to, after[update.to]) }
  }

  @inlinable
  mutating func followUpdate(at offset: Int, _ element: Element) {
    let (row, newKey) = (rows.order[offset], key(element))
    let old = groups[rows[row]]
    // Keys whose `==` lies may find the same group.
    let new = old.key.isSameIdentity(as: newKey) ? old : group(for: newKey)
    if new === old {
      draft(of: old)[old.offset(of: row)] = element
    } else {
      didLeave(old, old.remove(row))
      rows[row] = new.number
      enter(new, row, element)
    }
  }

  /// Follows the move of one row, which stays in its group.
  @inlinable
  mutating func followMove(_ move: Changeset.Move) {
    let row = rows.order.remove(at: move.from)
    rows.order.insert(row, at: move.to)
    let group = groups[rows[row]]
    let from = group.remove(row)
    let to = group.insert(row, inOrderOf: rows.order, storage)
    if from == 0 || to == 0 { group.isDisplaced = true }
    if from != to {
      draft(of: group).move(from: from, to: to)
    } else if group.isDisplaced {
      touch(group)
    }
  }

  /// Removes the element of a group whose row had an offset in it.
  @inlinable
  mutating func didLeave(_ group: Group, _ offset: Int) {
    draft(of: group).remove(at: offset)
    if offset == 0 { group.isDisplaced = true }
  }

  /// Inserts the element of a row into a group.
  @inlinable
  mutating func enter(_ group: Group, _ row: UInt32, _ element: Element) {
    let offset = group.insert(row, inOrderOf: rows.order, storage)
    draft(of: group).insert(element, at: offset)
    if offset == 0 { group.isDisplaced = true }
  }

  /// Returns the group of a key, which has a number now.
  @inlinable
  mutating func group(for key: Key) -> Group {
    let hash = key.hashValue
    if let group = groupOfHash[hash], group.key.isSameIdentity(as: key) { return group }
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

  /// The draft of the elements of a group in this pass.
  @inlinable
  mutating func draft(of group: Group) -> CollectionDraft<Element> {
    if let draft = group.draft { return draft }
    let draft = closedDraft.take() ?? CollectionDraft(Snapshot())
    draft.reopen(with: group.newest.elements)
    group.draft = draft
    touch(group)
    return draft
  }

  /// Notes that a group has edits, or that its first element has moved.
  @inlinable
  mutating func touch(_ group: Group) {
    if group.isTouched { return }
    group.isTouched = true
    touched.append(group)
  }

  // MARK: The output

  /// Edits the output after the groups have been edited.
  @inlinable
  mutating func publish(_ output: CollectionDraft<Output>) {
    /// The groups that need another place, and those that have changed and stay at their places.
    var (displaced, changed): ([Group], [Group]) = ([], [])
    for group in touched {
      let isEmpty = group.rows?.count == 0
      let isNew = !sections.contains(group.number)
      let isChanged = endEdits(of: group)
      if isEmpty {
        if !isNew { removeSection(of: group, output) }
        end(group)
      } else if isNew || group.isDisplaced && dependsOnFirstElement(group) {
        if !isNew { removeSection(of: group, output) }
        displaced.append(group)
      } else if isChanged {
        changed.append(group)
      }
      (group.isDisplaced, group.isTouched) = (false, false)
    }
    touched.removeAll(keepingCapacity: true)
    updateSections(of: changed, output)
    for group in displaced { insertSection(of: group, output) }
  }

  /// Updates the sections of groups that stay at their places.
  @inlinable
  func updateSections(of groups: [Group], _ output: CollectionDraft<Output>) {
    guard let view, !groups.isEmpty else { return }
    var updates = groups.map { group in
      let offset = sections.offset(of: group.number)
      return Changeset.Update(from: offset, to: offset)
    }
    if updates.count > 1 { updates.sort { $0.to < $1.to } }
    // One edit: combining several takes longer than they do (`PipelineBenchmarks sections change`).
    output.apply(valid: Changeset(updates: updates)) {
      view.element(self.groups[sections[$0]].newest)
    }
  }

  /// Ends the edits of a group, and returns whether the output shows a change.
  @inlinable
  mutating func endEdits(of group: Group) -> Bool {
    let section = group.newest
    guard let draft = group.draft.take() else { return false }
    let (changeset, elements) = (draft.finish(), draft.contents)
    draft.reopen(with: Snapshot())
    closedDraft = draft
    guard let changeset else { return false }
    group.setNewest(ListSection(SectionVersion(after: section.version, elements, changeset)))
    directory.parts.markChanged(group.followers)
    return view?.showsElements == true || section.elements.count != elements.count
  }

  /// Returns whether the place of a section depends on its first element. A given order may leave that open.
  @inlinable
  func dependsOnFirstElement(_ group: Group) -> Bool {
    if view == nil { return false }
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
    if view != nil { output.removeSubrange(offset..<offset + 1) }
  }

  @inlinable
  mutating func insertSection(of group: Group, _ output: CollectionDraft<Output>) {
    if let view {
      output.insert(view.element(group.newest), at: place(group))
    } else {
      sections.insert(group.number, at: sections.count)
    }
  }

  /// Ends the use of a group that has no elements any more.
  @inlinable
  mutating func end(_ group: Group) {
    groups.remove(group.number)
    if groupOfHash[group.hash] === group { groupOfHash[group.hash] = nil }
    group.number = .max
    group.removeRows()
    group.endUse()
  }

  /// Inserts a group at its place in the output, and returns its offset.
  @inlinable
  mutating func place(_ group: Group) -> Int {
    let first = group.firstRow
    let place = sections.place { other in
      let other = groups[other]
      if let order {
        if order.precedes(group.key, other.key) { return true }
        if order.precedes(other.key, group.key) { return false }
      }
      return rows.order.isBefore(first, other.firstRow)
    }
    sections.insert(group.number, at: place)
    return place.offset
  }

  // MARK: Many changes

  /// Follows a change of so many elements that visiting all of them takes less time.
  @inlinable
  mutating func rebuild(_ change: CollectionChange<Element>, _ output: CollectionDraft<Output>) {
    let (changeset, elements) = (change.changeset, change.after.array)
    let old = rows.order.rows.map { groups[rows[$0]] }
    var counts = Array(repeating: 0, count: groups.rowCount)
    /// The offset of each old element in its group.
    let places = old.map { group in
      defer { counts[Int(group.number)] += 1 }
      return counts[Int(group.number)]
    }
    var kept: [Origin] = []
    let origins = changeset.elementOrigins(oldCount: old.count)
    let groupOfElement = zip(elements, origins).map { element, origin in
      let isKnown = origin.offset >= 0 && !origin.isUpdated
      let group = isKnown ? old[origin.offset] : group(for: key(element))
      let isKept = origin.offset >= 0 && old[origin.offset] === group
      kept.append(
        Origin(offset: isKept ? places[origin.offset] : -1, isUpdated: origin.isUpdated))
      return group
    }
    build(elements, groupOfElement, kept, output)
  }

  /// Builds everything from elements and their groups.
  ///
  /// - Parameters:
  ///   - elements: The elements.
  ///   - groupOfElement: The group of each element.
  ///   - kept: For each element, where in its group it comes from. If it is `nil`, the elements of each group are
  ///     compared.
  ///   - output: The output.
  @inlinable
  mutating func build(
    _ elements: [Element], _ groupOfElement: [Group], _ kept: [Origin]?,
    _ output: CollectionDraft<Output>
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
    var grouped = Array(repeating: UInt32(0), count: elements.count)
    for (offset, group) in groupOfElement.enumerated() {
      grouped[ends[Int(group.number)]] = UInt32(offset)
      ends[Int(group.number)] += 1
    }
    rows = InputRows(groupOfElement.map(\.number))
    storage = RowStorage(expectedCount: elements.count, listCount: inUse.count)
    start = 0
    for group in inUse {
      let end = ends[Int(group.number)]
      group.rows = RowTree(in: storage, grouped[start..<end])
      let offsets = grouped[start..<end].map { Int($0) }
      replaceElements(
        of: group, offsets.map { elements[$0] }, kept.map { kept in offsets.map { kept[$0] } })
      start = end
    }
    for number in before where ends[Int(number)] == 0 {
      let group = groups[number]
      replaceElements(of: group, [], nil)
      end(group)
    }
    arrange(inUse, output)
  }

  /// Follows a change of the order.
  @inlinable
  mutating func reorder(_ output: CollectionDraft<Output>) {
    let inUse = sections.rows.map { groups[$0] }
    arrange(inUse.sorted { rows.order.isBefore($0.firstRow, $1.firstRow) }, output)
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
    if let view { output.replace(with: groups.map { view.element($0.newest) }) }
  }

  /// Replaces the elements of a group by others.
  @inlinable
  mutating func replaceElements(of group: Group, _ elements: [Element], _ kept: [Origin]?) {
    let draft = CollectionDraft(group.newest.elements)
    if let kept {
      draft.replace(with: elements, from: kept)
    } else {
      draft.replace(with: elements)
    }
    group.draft = draft
    _ = endEdits(of: group)
    group.isDisplaced = false
  }
}
