public import Diffing

/// An operator that appends the right elements that have no match to the pairs of a left join.
@usableFromInline
struct FullJoinOperator<
  Left: Differentiable & Sendable, Right: Differentiable & Sendable, Key: Hashable
>: ~Copyable, CollectionOperator {
  @usableFromInline typealias Output = JoinedPair<Left?, Right?>

  @usableFromInline var join: JoinOperator<Left, Right, Key, Left?, Right?>
  /// The right elements without a match, which are after all pairs.
  @usableFromInline var unmatched = ShownPart()

  @inlinable
  init(join: consuming JoinOperator<Left, Right, Key, Left?, Right?>) {
    self.join = join
  }

  @inlinable
  mutating func start(_ output: CollectionDraft<Output>) {
    join.start(output)
    output.append(
      contentsOf: showUnmatched().map { Output(left: nil, right: join.right.snapshot[$0]) })
  }

  /// Stores which right elements have no match, and returns their offsets.
  @inlinable
  mutating func showUnmatched() -> [Int] {
    unmatched = ShownPart(join.rightRows.orderedKeys().map { !join.leftRows.has($0) })
    return unmatched.offsets
  }

  /// Follows changes of so many elements that visiting all of them takes less time.
  @inlinable
  mutating func rebuild(
    _ leftChange: KeyChange<Left, Key>?, _ rightChange: KeyChange<Right, Key>?,
    _ output: CollectionDraft<Output>
  ) {
    var ranks = Array(repeating: -1, count: join.rightRows.count)
    for (rank, offset) in unmatched.offsets.enumerated() {
      ranks[offset] = join.lengths.total + rank
    }
    let (pairs, origins, rights) = join.rebuild(leftChange, rightChange)
    let (offsets, elements) = (showUnmatched(), join.right.snapshot.array)
    output.replace(
      with: pairs + offsets.map { Output(left: nil, right: elements[$0]) },
      from: origins
        + offsets.map { offset in
          let origin = rights[offset]
          let rank = origin.offset < 0 ? -1 : ranks[origin.offset]
          return Origin(offset: rank, isUpdated: origin.isUpdated)
        })
  }

  @inlinable
  mutating func update(_ output: CollectionDraft<Output>) {
    let leftChange = KeyChange(join.left.change, key: join.leftKey)
    let rightChange = KeyChange(join.right.change, key: join.rightKey)
    let touched = join.leftRows.presence(of: leftChange)
    let isLarge =
      join.isLarge(leftChange, rightChange, output)
      || join.rightRows.count(ofAll: touched.keys) > max(16, join.rightRows.count / 32)
    if isLarge { return rebuild(leftChange, rightChange, output) }
    join.follow(leftChange, rightChange, output)
    let (start, rights) = (join.lengths.total, join.right.snapshot)
    if let rightChange {
      unmatched.follow(rightChange, from: start, in: output) {
        !join.leftRows.has($0)
      } element: {
        Output(left: nil, right: $0)
      }
    }
    for (key, wasPresent) in touched where join.leftRows.has(key) != wasPresent {
      for offset in join.rightRows.offsets(of: key) {
        unmatched.show(wasPresent, at: offset, from: start, in: output) {
          Output(left: nil, right: rights[offset])
        }
      }
    }
  }
}
