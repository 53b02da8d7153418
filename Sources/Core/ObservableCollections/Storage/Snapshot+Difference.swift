public import Diffing

extension Snapshot {
  /// Returns the difference between these contents and new contents.
  ///
  /// The difference is as ``Changeset/init(from:to:)`` describes it. Parts that both snapshots share in
  /// memory are not read. Where an identity occurs more than once, elements pair inside their gap
  /// between two shared parts before they pair across gaps.
  ///
  /// - Complexity: O(1) for the same snapshot. O(*k* log *n*) for *k* edits between two long
  ///   snapshots that share the rest of their *n* elements. Otherwise, the complexity of
  ///   ``Changeset/init(from:to:)``.
  @usableFromInline
  package func changeset(to new: Snapshot) -> Changeset {
    if storage.isIdentical(to: new.storage) { return .empty }
    if let old = storage.array, let new = new.storage.array { return Changeset(from: old, to: new) }
    return changeset(to: new, in: storage.gaps(to: new.storage))
  }

  /// Returns the difference between these contents and new contents that differ only inside some gaps.
  package func changeset(to new: Snapshot, in gaps: [Gap]) -> Changeset {
    let (old, new) = (storage, new.storage)
    let parts = gaps.compactMap { gap in
      let gap = old.trimmed(gap, new)
      return gap.isEmpty ? nil : (gap, old.difference(to: new, in: gap))
    }
    return Changeset(joining: parts) { deletions, insertions in
      Changeset(from: deletions.map { old[$0] }, to: insertions.map { new[$0] })
    }
  }

  /// Returns whether another snapshot has the same identities and contents at the same offsets.
  ///
  /// - Complexity: O(1) for the same snapshot. Otherwise O(n), but parts that both snapshots share in
  ///   memory at the same offsets are not compared.
  public func hasSameContents(as other: Snapshot<Element>) -> Bool {
    guard count == other.count else { return false }
    if storage.isIdentical(to: other.storage) { return true }
    /// The start of a part in which shared elements are at other offsets, or `nil` outside of such a part.
    var start: Int?
    for gap in storage.gaps(to: other.storage) {
      let first = start ?? gap.old.lowerBound
      start = gap.old.upperBound == gap.new.upperBound ? nil : first
      if start == nil, !hasSameContents(as: other, in: first..<gap.old.upperBound) { return false }
    }
    return true
  }

  /// Returns whether another snapshot has the same identities and contents in a range.
  private func hasSameContents(as other: Snapshot, in range: Range<Int>) -> Bool {
    var start = range.lowerBound
    while start < range.upperBound {
      let length = storage.withChunk(at: start) { mine, oneStart in
        other.storage.withChunk(at: start) { theirs, otherStart in
          let length = Swift.min(
            mine.count - oneStart, theirs.count - otherStart, range.upperBound - start)
          let isSame = (0..<length).allSatisfy {
            mine[oneStart + $0].isSame(as: theirs[otherStart + $0])
          }
          return isSame ? length : nil
        }
      }
      guard let length else { return false }
      start += length
    }
    return true
  }
}

extension PersistentArray where Element: Differentiable {
  /// Returns the parts in which this list and a new list may differ.
  fileprivate func gaps(to new: PersistentArray) -> [Gap] {
    guard case .tree(let oldRoot) = self, case .tree(let newRoot) = new else {
      return [Gap(old: 0..<count, new: 0..<new.count)]
    }
    let comparison = TreeComparison(oldRoot, newRoot)
    guard let first = comparison.gaps.first, let last = comparison.gaps.last else { return [] }
    // If less than a quarter is shared, one difference of everything costs less (`EngineBenchmarks
    // shared`, with 10,000 to 40,000 updates of a million rows).
    if 4 * comparison.gapElementCount > 3 * (count + new.count) {
      return [
        Gap(
          old: first.old.lowerBound..<last.old.upperBound,
          new: first.new.lowerBound..<last.new.upperBound)
      ]
    }
    return comparison.gaps
  }

  /// Removes elements with identical bytes from both ends of a gap.
  fileprivate func trimmed(_ gap: Gap, _ new: PersistentArray) -> Gap {
    let size = MemoryLayout<Element>.size
    return withMemory { old in
      new.withMemory { new in ElementMemory.trimmed(gap, old, new, size: size) }
    }
  }

  private func withMemory<Result>(_ body: (ElementMemory) -> Result) -> Result {
    let (stride, alignment) = (MemoryLayout<Element>.stride, MemoryLayout<Element>.alignment)
    switch self {
    case .tree(let root):
      return withExtendedLifetime(root) {
        body(ElementMemory(root: .passUnretained(root), stride: stride, alignment: alignment))
      }
    case .flat(let elements):
      return elements.withUnsafeBytes {
        body(ElementMemory(array: $0, stride: stride, alignment: alignment))
      }
    }
  }

  /// Returns the difference between the old and the new elements of a gap.
  fileprivate func difference(to new: PersistentArray, in gap: Gap) -> Changeset {
    withContiguousElements(in: gap.old) { old in
      new.withContiguousElements(in: gap.new) { new in Changeset(from: old, to: new) }
    }
  }
}

/// The memory of the elements of a list, which the caller keeps alive.
// Not generic: unspecialized code for the type of the elements takes twice as long (`EngineBenchmarks "nothing shared"`).
private struct ElementMemory {
  var array = UnsafeRawBufferPointer(start: nil, count: 0)
  var root: Unmanaged<TreeNode>?
  let stride: Int
  let alignment: Int

  /// Returns the address of an element, and the numbers of the elements before it and from it on that are next to it.
  private func element(
    at offset: Int
  ) -> (address: UnsafeRawPointer, before: Int, count: Int)? {
    var (start, length, position) = (array.baseAddress, array.count / stride, offset)
    if let root {
      let leaf = root._withUnsafeGuaranteedRef { $0.leafChild(at: &position) }
      length = leaf.count
      start = leaf.node._withUnsafeGuaranteedRef {
        UnsafeRawPointer($0.children).alignedUp(toMultipleOf: alignment)
      }
    }
    return start.map { ($0 + position * stride, position, length - position) }
  }

  /// Removes elements with identical bytes from both ends of a gap.
  static func trimmed(_ gap: Gap, _ old: ElementMemory, _ new: ElementMemory, size: Int) -> Gap {
    var gap = gap
    while !gap.old.isEmpty, !gap.new.isEmpty, let one = old.element(at: gap.old.lowerBound),
      let other = new.element(at: gap.new.lowerBound)
    {
      let limit = min(one.count, other.count, gap.old.count, gap.new.count)
      let prefix = identicalCount(
        one.address, other.address, size: size, stride: old.stride, upTo: limit)
      gap.old = gap.old.lowerBound + prefix..<gap.old.upperBound
      gap.new = gap.new.lowerBound + prefix..<gap.new.upperBound
      if prefix < limit { break }
    }
    while !gap.old.isEmpty, !gap.new.isEmpty, let one = old.element(at: gap.old.upperBound - 1),
      let other = new.element(at: gap.new.upperBound - 1)
    {
      let limit = min(one.before + 1, other.before + 1, gap.old.count, gap.new.count)
      let suffix = identicalCount(
        one.address, other.address, size: size, stride: -old.stride, upTo: limit)
      gap.old = gap.old.lowerBound..<gap.old.upperBound - suffix
      gap.new = gap.new.lowerBound..<gap.new.upperBound - suffix
      if suffix < limit { break }
    }
    return gap
  }
}

/// Returns how many elements have identical bytes, one by one from two addresses.
private func identicalCount(
  _ one: UnsafeRawPointer, _ other: UnsafeRawPointer, size: Int, stride: Int, upTo limit: Int
) -> Int {
  if one == other { return limit }
  var count = 0
  while count < limit,
    haveIdenticalBytes(one + count * stride, other + count * stride, count: size)
  {
    count += 1
  }
  return count
}

/// Returns whether two pieces of memory hold the same bytes.
private func haveIdenticalBytes(
  _ one: UnsafeRawPointer, _ other: UnsafeRawPointer, count: Int
) -> Bool {
  var offset = 0
  var difference: UInt64 = 0
  while offset &+ 8 <= count {
    difference |=
      one.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
      ^ other.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
    offset &+= 8
  }
  while offset < count {
    difference |= UInt64(
      one.load(fromByteOffset: offset, as: UInt8.self)
        ^ other.load(fromByteOffset: offset, as: UInt8.self))
    offset &+= 1
  }
  return difference == 0
}

extension Changeset {
  /// Returns the change that observers receive for recorded edits.
  ///
  /// The method reads the storage of the snapshots directly, because generic code reads snapshots
  /// slowly.
  ///
  /// - Complexity: The complexity of `normalForm(old:new:)`, times O(log n) for n elements.
  @inlinable
  package func normalForm<Element>(
    from old: Snapshot<Element>, to new: Snapshot<Element>
  ) -> Changeset {
    let (old, new) = (old.storage, new.storage)
    return normalForm(old: { old[$0] }, new: { new[$0] })
  }

  /// Returns whether the contents are equal before and after. Even moves of equal elements may
  /// leave them equal.
  ///
  /// - Complexity: O(1) if there are only deletions or only insertions. Otherwise, elements are
  ///   compared from the first to the last affected offset, up to the first difference.
  @inlinable
  func hasNoEffect<Element>(
    from before: Snapshot<Element>, to after: Snapshot<Element>
  ) -> Bool {
    // Without moves and insertions, each deletion and each update has an effect.
    if moves.isEmpty && insertions.isEmpty { return isEmpty }
    guard before.count == after.count else { return false }
    // Deletions and insertions are in ascending order.
    var first = min(deletions.first ?? .max, insertions.first ?? .max)
    var last = max(deletions.last ?? -1, insertions.last ?? -1)
    for move in moves {
      first = min(first, move.from, move.to)
      last = max(last, move.from, move.to)
    }
    for update in updates {
      first = min(first, update.from, update.to)
      last = max(last, update.from, update.to)
    }
    if last < first { return true }
    return (first...last).allSatisfy { before[$0].isSame(as: after[$0]) }
  }
}

@available(*, unavailable)
extension CollectionDraft: Sendable {}
