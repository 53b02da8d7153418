public import Diffing
public import ReactiveSignals

extension DataSource where Element.DifferenceIdentifier: Sendable {
  /// Derives a flat list of the rows of a tree, all of which are shown.
  ///
  ///     let rows = folders.outline(parent: \.parentID)
  ///
  /// It is the same as ``outline(parent:isExpanded:)`` with everything expanded.
  ///
  /// - Parameter parent: A key path or closure that returns the identity of an element's parent, or `nil` for a root. It
  ///   is called once for each inserted or updated element.
  /// - Complexity: O(k log n) for a change of k of n elements, plus O(r log n) for r rows that appear, disappear or move.
  @inlinable
  public func outline(
    parent: @escaping @Sendable (Element) -> Element.DifferenceIdentifier?
  ) -> LiveCollection<OutlineRow<Element>> {
    transformed { OutlineOperator(input: $0, expansion: nil, parent: parent) }
  }

  /// Derives a flat list of the rows of a tree. The children of an element are shown below it if it is expanded.
  ///
  ///     let expansion = Property(OutlineRow<Folder>.Expansion())
  ///     let rows = folders.outline(parent: \.parentID, isExpanded: expansion)
  ///     expansion.modify { $0["music"].toggle() }
  ///
  /// The rows are in depth-first order, and siblings are in the order of the source. The parent of an element is the first
  /// element with the identity that the closure returns. An element is a root if there is no such element, if it names
  /// itself, or if it would be its own ancestor. So each element of a cycle is a root, and none is lost.
  ///
  /// | in | out |
  /// |---|---|
  /// | insert | insert, also of children that have waited as roots: they move; or nothing, if an ancestor is collapsed |
  /// | delete | delete; its children become roots |
  /// | update | update; if the element has another parent, it moves with all rows below it |
  /// | move | a move with all rows below it, or nothing if it passes no sibling |
  /// | expand, collapse | insert or delete of the rows below, and an update of the row |
  /// | an element gets its first child, or loses the last one | an update of its row |
  ///
  /// The result equals the result of this function over arrays:
  ///
  ///     func outline(_ elements: [Element]) -> [OutlineRow<Element>] {
  ///       func parentOffset(_ offset: Int) -> Int? {  // An element that names itself has none.
  ///         guard let id = parent(elements[offset]), id != elements[offset].id else { return nil }
  ///         return elements.firstIndex { $0.id == id }
  ///       }
  ///       func isRoot(_ offset: Int) -> Bool {
  ///         let path = Array(sequence(first: offset, next: parentOffset).prefix(elements.count + 1))
  ///         return path.count == 1 || path.dropFirst().contains(offset)
  ///       }
  ///       func rows(_ offset: Int, _ depth: Int) -> [OutlineRow<Element>] {
  ///         let children = elements.indices.filter { !isRoot($0) && parentOffset($0) == offset }
  ///         let isExpanded = !children.isEmpty && expansion[elements[offset].id]
  ///         let row = OutlineRow(
  ///           elements[offset], depth: depth, hasChildren: !children.isEmpty, isExpanded: isExpanded)
  ///         return [row] + (isExpanded ? children.flatMap { rows($0, depth + 1) } : [])
  ///       }
  ///       return elements.indices.filter(isRoot).flatMap { rows($0, 0) }
  ///     }
  ///
  /// - Parameters:
  ///   - parent: A key path or closure that returns the identity of an element's parent, or `nil` for a root. It is called
  ///     once for each inserted or updated element.
  ///   - expansion: The elements whose children are shown: a property, or a view of one.
  /// - Complexity: O(k log n) for a change of k of n elements, plus O(r log n) for r rows that appear, disappear or move,
  ///   and O(a) for the a ancestors of changed elements that have children: it climbs from them to the root, each ancestor
  ///   once. If another element becomes the first one with an identity, each of its children counts as a row that moves. A change of the expansion is O(r log n) for
  ///   r rows that appear or disappear, plus O(e) for e exceptions of the old and the new one. Another default is O(n).
  @inlinable
  public func outline(
    parent: @escaping @Sendable (Element) -> Element.DifferenceIdentifier?,
    isExpanded expansion: some PropertySource<OutlineRow<Element>.Expansion>
  ) -> LiveCollection<OutlineRow<Element>> {
    LiveCollection { inputs in
      OutlineOperator(
        input: inputs.collection(self), expansion: inputs.property(expansion), parent: parent)
    }
  }
}

/// An operator that shows the rows of a tree. ``OutlineForest`` does the work that does not need the elements.
@usableFromInline
struct OutlineOperator<Element: Differentiable & Sendable>: ~Copyable, CollectionOperator
where Element.DifferenceIdentifier: Sendable {
  @usableFromInline typealias Identifier = Element.DifferenceIdentifier
  @usableFromInline typealias Output = OutlineRow<Element>
  @usableFromInline typealias Links = OutlineForest.Links

  @usableFromInline let input: CollectionInput<Element>
  @usableFromInline let parameter: PropertyInput<OutlineRow<Element>.Expansion>?
  @usableFromInline let parent: @Sendable (Element) -> Identifier?
  @usableFromInline var expansion = OutlineRow<Element>.Expansion.all
  @usableFromInline var keys = OutlineKeys<Identifier>(expectedCount: 0)
  @usableFromInline var forest = OutlineForest()

  @inlinable
  init(
    input: CollectionInput<Element>, expansion: PropertyInput<OutlineRow<Element>.Expansion>?,
    parent: @escaping @Sendable (Element) -> Identifier?
  ) {
    self.input = input
    parameter = expansion
    self.parent = parent
  }

  @inlinable
  mutating func start(_ output: CollectionDraft<Output>) {
    if let parameter { expansion = parameter.value }
    let elements = input.snapshot.array
    keys = OutlineKeys(expectedCount: elements.count)
    forest.rebuild(elements.map { forest.links.insert(makeLinks($0)) })
    output.append(
      contentsOf: forest.shownRows.map { row(of: $0.row, elements[Int($0.row)], $0.depth) })
  }

  @inlinable
  mutating func update(_ output: CollectionDraft<Output>) {
    var toggled: [UInt32]? = []
    if let parameter, parameter.isSet { toggled = readExpansion(parameter.value) }
    let changeset = input.change?.changeset ?? .empty
    if let toggled, !changeset.isLarge(forCount: forest.source.count),
      toggled.count <= max(4, forest.source.count / 4), keepsIdentities(changeset)
    {
      follow(changeset, toggling: toggled, output)
    } else {
      rebuild(changeset, toggling: toggled, output)
    }
    if forest.links.isSparse { renumber() }
  }

  // MARK: Links

  /// Returns the keys of an element and of the parent that it names, for one more use.
  @inlinable
  mutating func makeLinks(_ element: Element) -> Links {
    makeLinks(element.differenceIdentifier, parent(element))
  }

  @inlinable
  mutating func makeLinks(_ identifier: Identifier, _ parent: Identifier?) -> Links {
    let key = use(identifier)
    // An element that names itself has no parent.
    guard let parent, parent != identifier else {
      return Links(key: key, parentKey: OutlineForest.none)
    }
    return Links(key: key, parentKey: use(parent))
  }

  @inlinable
  mutating func use(_ identifier: Identifier) -> UInt32 {
    let key = keys.use(identifier)
    if keys.useCounts[Int(key)] == 1 { forest.setExpanded(expansion[identifier], key) }
    return key
  }

  @inlinable
  mutating func release(_ links: Links) {
    keys.release(links.key)
    if links.parentKey != OutlineForest.none { keys.release(links.parentKey) }
  }

  /// Numbers the rows and the identities from 0.
  @inlinable
  mutating func renumber() {
    let identifiers = keys.identifiers
    func identifier(_ key: UInt32) -> Identifier? {
      key == OutlineForest.none ? nil : identifiers[Int(key)]
    }
    let old = forest.source.rows.map { forest.links[$0] }
    forest = OutlineForest()
    keys = OutlineKeys(expectedCount: old.count)
    forest.rebuild(
      old.map { links in
        guard let own = identifier(links.key) else {
          preconditionFailure("the identity of a row is not in use")
        }
        return forest.links.insert(makeLinks(own, identifier(links.parentKey)))
      })
  }

  // MARK: The expansion

  /// Stores a new expansion.
  ///
  /// - Returns: The keys that are expanded in one of the two expansions only, or `nil` if these may be all keys.
  @inlinable
  mutating func readExpansion(_ new: OutlineRow<Element>.Expansion) -> [UInt32]? {
    let difference = new.difference(from: expansion)
    expansion = new
    return difference?.compactMap { keys.number(of: $0) }
  }

  // MARK: Changes

  @inlinable
  func row(of row: UInt32, _ element: Element, _ depth: Int32) -> Output {
    OutlineRow(
      element, depth: Int(depth), hasChildren: forest.hasChildren(row),
      isExpanded: forest.isOpen(row))
  }

  /// Returns whether no update changes an identity.
  ///
  /// A few changes remove and insert rows, which are then paired by identity. An element that gets another identity may
  /// lose and gain children, and must stay an update all the same.
  @inlinable
  func keepsIdentities(_ changeset: Changeset) -> Bool {
    changeset.updates.allSatisfy { update in
      let key = Int(forest.links[forest.source[update.from]].key)
      return keys.identifiers[key].map {
        $0.isSameIdentity(as: input.snapshot[update.to].differenceIdentifier)
      } ?? false
    }
  }

  /// Follows a change of a few elements.
  @inlinable
  mutating func follow(
    _ changeset: Changeset, toggling toggled: [UInt32], _ output: CollectionDraft<Output>
  ) {
    let elements = input.snapshot
    let deleted = changeset.deletions.map { forest.source[$0] }
    let moved = changeset.moves.map { forest.source[$0.from] }
    let updated = changeset.updates.map { forest.source[$0.from] }
    let isMoved = Set(moved)
    var attached: [UInt32] = []
    var released = deleted.map { forest.links[$0] }
    for row in deleted { forest.detach(row) }
    for (index, row) in updated.enumerated() {
      let old = forest.links[row]
      let new = makeLinks(elements[changeset.updates[index].to])
      released.append(old)
      if new.key == old.key, new.parentKey == old.parentKey { continue }
      attached.append(row)
      forest.relink(row, new)
    }

    changeset.rearrange { offset, _ in
      forest.source.remove(at: offset)
    } arrive: { offset, move in
      if let move { return forest.source.insert(moved[move], at: offset) }
      let row = forest.links.insert(makeLinks(elements[offset]))
      forest.source.insert(row, at: offset)
      attached.append(row)
    }
    // The other moved rows stay where they are, with all rows below them.
    let displaced = moved.filter { forest.isDisplaced($0, moved: isMoved) }
    for row in displaced { forest.detach(row) }
    for row in attached + displaced { forest.attach(row) }
    let (edits, refreshed) = forest.finish(toggling: toggled)
    apply(edits, refreshing: refreshed.union(updated), elements, output)
    for row in deleted { forest.links.remove(row) }
    for links in released { release(links) }
  }

  @inlinable
  func apply(
    _ edits: [OutlineEdit], refreshing rows: Set<UInt32>, _ elements: Snapshot<Element>,
    _ output: CollectionDraft<Output>
  ) {
    for edit in edits {
      switch edit {
      case .remove(let range):
        output.removeSubrange(range)
      case .insert(let rows, let depths, let offset):
        let new = rows.indices.map { index in
          row(of: rows[index], elements[forest.source.offset(of: rows[index])], depths[index])
        }
        output.insert(contentsOf: new, at: offset)
      }
    }
    for number in rows where forest.shown.contains(number) {
      let offset = forest.shown.offset(of: number)
      output[offset] = row(
        of: number, elements[forest.source.offset(of: number)], forest.depth(shownAt: offset))
    }
  }

  /// Follows a change of so many elements, or of so many expanded ones, that visiting all of them takes less time.
  ///
  /// - Parameter toggled: The keys that are expanded or collapsed, or `nil` if these may be all keys.
  @inlinable
  mutating func rebuild(
    _ changeset: Changeset, toggling toggled: [UInt32]?, _ output: CollectionDraft<Output>
  ) {
    let (old, elements) = (output.elements, input.snapshot.array)
    let oldRows = Array(forest.source.rows)
    let oldShown = Array(forest.shown.rows)
    var released = changeset.deletions.map { forest.links[oldRows[$0]] }
    for key in toggled ?? Array(keys.numbers.values) {
      if let identifier = keys.identifiers[Int(key)] {
        forest.setExpanded(expansion[identifier], key)
      }
    }
    for update in changeset.updates {
      released.append(forest.links[oldRows[update.from]])
      forest.links[oldRows[update.from]] = makeLinks(elements[update.to])
    }
    let origins = changeset.elementOrigins(oldCount: oldRows.count)
    let rows = origins.enumerated().map { offset, origin in
      origin.offset < 0
        ? forest.links.insert(makeLinks(elements[offset])) : oldRows[origin.offset]
    }
    if !changeset.isEmpty {
      forest.rebuild(rows)
    } else {
      forest.showAll()
    }

    var ranks = Array(repeating: -1, count: forest.links.rowCount)
    for (rank, row) in oldShown.enumerated() { ranks[Int(row)] = rank }
    var positions = Array(repeating: 0, count: forest.links.rowCount)
    for (offset, row) in rows.enumerated() { positions[Int(row)] = offset }
    let shown = forest.shownRows
    let new = shown.map { row(of: $0.row, elements[positions[Int($0.row)]], $0.depth) }
    let shownOrigins = zip(shown, new).map { shown, new in
      let rank = ranks[Int(shown.row)]
      let isUpdated = origins[positions[Int(shown.row)]].isUpdated
      let isElsewhere = rank >= 0 && !old[rank].hasSamePlace(as: new)
      return Origin(offset: rank, isUpdated: isUpdated || isElsewhere)
    }
    output.replace(with: new, from: shownOrigins)
    for offset in changeset.deletions { forest.links.remove(oldRows[offset]) }
    for links in released { release(links) }
  }
}

/// The identities of an outline, each with a number.
///
/// An identity has a number as long as it is in use: by an element that has it, or by one that names it as its parent.
@usableFromInline
struct OutlineKeys<Identifier: Hashable & Sendable>: ~Copyable, Sendable {
  @usableFromInline var numbers: [Identifier: UInt32] = [:]
  /// The identity of each number, or `nil` if the number is free.
  @usableFromInline var identifiers: [Identifier?] = []
  @usableFromInline var useCounts: [Int] = []
  @usableFromInline var free: [UInt32] = []

  @inlinable
  init(expectedCount: Int) {
    numbers.reserveCapacity(expectedCount)
    identifiers.reserveCapacity(expectedCount)
    useCounts.reserveCapacity(expectedCount)
  }

  /// Returns the number of an identity that is in use, or `nil` if it is not.
  @inlinable
  func number(of identifier: Identifier) -> UInt32? {
    // If hash values are wrong, the dictionary may have kept a number that is free now.
    guard let key = numbers[identifier], identifiers[Int(key)] != nil else { return nil }
    return key
  }

  /// Returns the number of an identity, for one more use.
  @inlinable
  mutating func use(_ identifier: Identifier) -> UInt32 {
    if let key = number(of: identifier) {
      useCounts[Int(key)] += 1
      return key
    }
    let key = free.popLast() ?? UInt32(identifiers.count)
    if Int(key) == identifiers.count {
      identifiers.append(identifier)
      useCounts.append(1)
    } else {
      (identifiers[Int(key)], useCounts[Int(key)]) = (identifier, 1)
    }
    numbers[identifier] = key
    return key
  }

  /// Ends one use of a number.
  @inlinable
  mutating func release(_ key: UInt32) {
    useCounts[Int(key)] -= 1
    guard useCounts[Int(key)] == 0, let identifier = identifiers[Int(key)] else { return }
    identifiers[Int(key)] = nil
    free.append(key)
    numbers[identifier] = nil
  }
}
