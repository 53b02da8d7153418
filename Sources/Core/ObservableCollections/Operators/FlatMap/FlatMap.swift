public import Diffing

extension DataSource {
  /// Derives a collection of the children of all elements.
  ///
  ///     let lines = orders.flatMap(\.lines)
  ///
  /// The children of an element are in its place. The result equals `Array(source).flatMap(children)`.
  ///
  /// | in | out |
  /// |---|---|
  /// | insert, delete | insert or delete of the children |
  /// | update | insert, delete, update and move of the children that differ, by their identities; or nothing |
  /// | move | move of the children, or nothing |
  ///
  /// Several elements may have children of the same identity. A child that leaves one element and enters another by one
  /// change is moved.
  ///
  /// - Parameter children: A key path or closure that is called once for each inserted or updated element.
  /// - Complexity: O(k log n + m log n) for a change of k of n elements with m children. An update also takes the time of
  ///   the difference of the old and the new children. The first element that has another number of children than all
  ///   others takes O(n), once.
  @inlinable
  public func flatMap<Children: Collection & SendableMetatype>(
    _ children: @escaping @Sendable (Element) -> Children
  ) -> LiveCollection<Children.Element>
  where Children.Element: Differentiable & Sendable {
    transformed { input in FlatMapOperator(input: input) { Array(children($0)) } }
  }
}

/// An operator that replaces each element by its children, which are a block of consecutive elements of the output.
@usableFromInline
struct FlatMapOperator<Parent: Differentiable & Sendable, Child: Differentiable & Sendable>:
  ~Copyable, CollectionOperator
{
  @usableFromInline let input: CollectionInput<Parent>
  @usableFromInline let children: @Sendable (Parent) -> [Child]
  /// The number of children of each element.
  @usableFromInline var lengths = BlockLengths(lengths: [])

  @inlinable
  init(input: CollectionInput<Parent>, children: @escaping @Sendable (Parent) -> [Child]) {
    self.input = input
    self.children = children
  }

  @inlinable
  mutating func start(_ output: CollectionDraft<Child>) {
    let families = input.snapshot.map(children)
    lengths = BlockLengths(lengths: families.map { $0.count })
    output.append(contentsOf: Array(families.joined()))
  }

  @inlinable
  mutating func update(_ output: CollectionDraft<Child>) {
    guard let change = input.change else { return }
    if change.changeset.isLarge(forCount: lengths.count) {
      rebuild(change, output)
    } else {
      follow(change, output)
    }
  }

  /// Follows a change of a few elements.
  @inlinable
  mutating func follow(_ change: CollectionChange<Parent>, _ output: CollectionDraft<Child>) {
    let (changeset, after) = (change.changeset, change.after)
    let inserted = changeset.insertions.map { children(after[$0]) }
    lengths.follow(changeset, inserted: inserted, output)
    for update in changeset.updates {
      let (block, new) = (lengths.block(at: update.to), children(after[update.to]))
      let start = block.lowerBound
      let difference = Changeset(from: output.working.elements(in: block), to: new)
      if new.count != block.count { lengths.setLength(new.count, at: update.to) }
      output.apply(
        valid: difference.shifted(oldBy: start, newBy: start),
        inserted: difference.insertions.map { new[$0] },
        updated: difference.updates.map { new[$0.to] })
    }
  }

  /// Follows a change of so many elements that visiting all of them takes less time.
  @inlinable
  mutating func rebuild(_ change: CollectionChange<Parent>, _ output: CollectionDraft<Child>) {
    let (changeset, after) = (change.changeset, change.after.array)
    let (old, starts) = (output.elements, lengths.starts + [output.count])
    var (elements, origins, newLengths): ([Child], [Origin], [Int]) = ([], [], [])
    for (offset, origin) in changeset.elementOrigins(oldCount: lengths.count).enumerated() {
      let block = origin.offset < 0 ? 0..<0 : starts[origin.offset]..<starts[origin.offset + 1]
      if origin.offset >= 0, !origin.isUpdated {
        elements += old[block]
        origins += block.map { Origin(offset: $0, isUpdated: false) }
        newLengths.append(block.count)
        continue
      }
      let family = children(after[offset])
      let difference = Changeset(from: old[block], to: family)
      elements += family
      origins += difference.elementOrigins(oldCount: block.count).map { child in
        let offset = child.offset < 0 ? -1 : block.lowerBound + child.offset
        return Origin(offset: offset, isUpdated: child.isUpdated)
      }
      newLengths.append(family.count)
    }
    lengths = BlockLengths(lengths: newLengths)
    output.replace(with: elements, from: origins)
  }
}
