public import SwappablePrimitives

/// A long sorted sequence, in chunks. Searches and edits touch only a few chunks.
///
/// The user of the sequence knows the order of the entries and passes it in.
@usableFromInline
package struct SortedChunks<Entry: Sendable>: Sendable {
  // Inlinable, and its types usable from inline: only then, other modules specialize the searches and edits
  // (`DatabaseBenchmarks`, the first load).

  @usableFromInline
  package struct Position: Sendable {
    @usableFromInline var chunk: Int
    @usableFromInline var offset: Int

    @inlinable
    init(chunk: Int, offset: Int) {
      (self.chunk, self.offset) = (chunk, offset)
    }
  }

  @inlinable static var limit: Int { 512 }
  /// The initial size of a chunk. It leaves space for insertions.
  @inlinable static var fill: Int { limit * 3 / 4 }

  @usableFromInline var chunks: [ContiguousArray<Entry>] = []
  /// The number of entries in each chunk, side by side for fast addition.
  @usableFromInline var counts: [Int] = []
  @usableFromInline package internal(set) var count = 0

  @inlinable init() {}

  @inlinable package init(_ entries: ContiguousArray<Entry>) {
    count = entries.count
    for start in stride(from: 0, to: entries.count, by: SortedChunks.fill) {
      let end = Swift.min(start + SortedChunks.fill, entries.count)
      chunks.append(ContiguousArray(entries[start..<end]))
    }
    counts = chunks.map(\.count)
  }

  @inlinable package var last: Entry? { chunks.last?.last }

  /// Returns the first position whose entry does not satisfy `isBefore`. No later entry may satisfy it.
  ///
  /// - Complexity: O(log n).
  @inlinable package func position(where isBefore: (Entry) -> Bool) -> Position {
    // No chunk is empty.
    let chunk = chunks.indices.partitioningIndex { !isBefore(chunks[$0][counts[$0] - 1]) }
    guard chunk < chunks.count else { return Position(chunk: chunk, offset: 0) }
    return chunks[chunk].withUnsafeBufferPointer { entries in
      Position(chunk: chunk, offset: entries.partitioningIndex { !isBefore($0) })
    }
  }

  /// Returns the entry at a position, or `nil` at the end.
  @inlinable package subscript(position: Position) -> Entry? {
    position.chunk < chunks.count ? chunks[position.chunk][position.offset] : nil
  }

  /// Returns the number of entries before a position.
  ///
  /// - Complexity: O(*n* / 512), a fraction of a microsecond for a million entries.
  @inlinable package func offset(of position: Position) -> Int {
    var sum = position.offset
    for chunk in 0..<position.chunk { sum &+= counts[chunk] }
    return sum
  }

  @inlinable package mutating func insert(_ entry: Entry, at position: Position) {
    var position = position
    count += 1
    if position.chunk == chunks.count {
      guard let last = chunks.indices.last else {
        chunks = [[entry]]
        counts = [1]
        return
      }
      position = Position(chunk: last, offset: counts[last])
    }
    chunks[position.chunk].insert(entry, at: position.offset)
    counts[position.chunk] += 1
    if counts[position.chunk] > SortedChunks.limit { split(position.chunk) }
  }

  @inlinable package mutating func remove(at position: Position) {
    count -= 1
    chunks[position.chunk].remove(at: position.offset)
    counts[position.chunk] -= 1
    if counts[position.chunk] == 0 {
      chunks.remove(at: position.chunk)
      counts.remove(at: position.chunk)
    } else {
      mergeIfSmall(position.chunk)
    }
  }

  @inlinable mutating func split(_ chunk: Int) {
    let middle = counts[chunk] / 2
    let tail = ContiguousArray(chunks[chunk][middle...])
    chunks[chunk].removeSubrange(middle...)
    chunks.insert(tail, at: chunk + 1)
    counts[chunk] = middle
    counts.insert(tail.count, at: chunk + 1)
  }

  @inlinable mutating func mergeIfSmall(_ chunk: Int) {
    guard chunk + 1 < chunks.count, counts[chunk] + counts[chunk + 1] < SortedChunks.limit / 2
    else { return }
    chunks[chunk].append(contentsOf: chunks[chunk + 1])
    counts[chunk] += counts[chunk + 1]
    chunks.remove(at: chunk + 1)
    counts.remove(at: chunk + 1)
  }
}

extension SortedChunks: Sequence {
  @inlinable package func makeIterator() -> FlattenSequence<[ContiguousArray<Entry>]>.Iterator {
    chunks.joined().makeIterator()
  }

  @inlinable package var underestimatedCount: Int { count }
}
