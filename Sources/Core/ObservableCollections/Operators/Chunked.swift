public import Diffing
public import ReactiveSignals

extension DataSource {
  /// Derives a collection of chunks: the first elements, the next ones, and so on.
  ///
  ///     let pages = todos.chunked(into: 10)
  ///
  /// Each chunk has the same number of elements, except that the last one may have fewer. Its key is its number, from 0.
  /// Chunks are sections, so `rows()` and `sectionedChangeset()` apply to them. Identities decide what has changed in a
  /// chunk.
  ///
  /// | in | out |
  /// |---|---|
  /// | insert, delete | update of the chunk and of all chunks after it; insert or delete of the last chunk, or nothing |
  /// | update | update of the chunk |
  /// | move | update of the chunks from the old place to the new one |
  ///
  /// An insertion or deletion at the front moves an element across the border of each chunk, so it updates all chunks.
  /// At the end, it updates one.
  ///
  /// - Parameter size: The number of elements of a chunk, at least 1.
  /// - Complexity: O(k log k + c(s + log n)) for a change of k of n elements that touches c chunks of s elements.
  @inlinable
  public func chunked(into size: Int) -> LiveCollection<ListSection<Int, Element>> {
    precondition(size > 0, "a chunk must have at least 1 element, but the size is \(size)")
    return transformed { ChunkOperator(input: $0) { size } }
  }

  /// Derives a collection of chunks, whose size may change.
  ///
  ///     let size = Property(10)
  ///     let pages = todos.chunked(into: size)
  ///     size.value = 20
  ///
  /// Changes are followed like in a collection of chunks of a constant size. Another size is one event: it updates the
  /// chunks that stay, and inserts or deletes chunks at the end.
  ///
  /// - Parameter size: The number of elements of a chunk: a property, or a view of one. A number below 1 counts as 1.
  /// - Complexity: O(k log k + c(s + log n)) for a change of k of n elements that touches c chunks of s elements. O(n)
  ///   for another size.
  @inlinable
  public func chunked(
    into size: some PropertySource<Int>
  ) -> LiveCollection<ListSection<Int, Element>> {
    LiveCollection { inputs in
      let size = inputs.property(size)
      return ChunkOperator(input: inputs.collection(self)) { max(1, size.value) }
    }
  }
}

/// An operator that divides a list into chunks.
@usableFromInline
struct ChunkOperator<Element: Differentiable & Sendable>: CollectionOperator {
  @usableFromInline typealias Chunk = ListSection<Int, Element>

  @usableFromInline let input: CollectionInput<Element>
  /// Returns the newest size, which is at least 1.
  @usableFromInline let newestSize: @Sendable () -> Int
  /// The size of the chunks in the output.
  @usableFromInline var size = 1

  @inlinable
  init(input: CollectionInput<Element>, newestSize: @escaping @Sendable () -> Int) {
    (self.input, self.newestSize) = (input, newestSize)
  }

  @inlinable
  mutating func start(_ output: CollectionDraft<Chunk>) {
    size = newestSize()
    output.append(contentsOf: (0..<chunkCount).map { chunk($0) })
  }

  @inlinable
  mutating func update(_ output: CollectionDraft<Chunk>) {
    let newest = newestSize()
    let isSameSize = newest == size
    size = newest
    // Chunks have their numbers as keys, so only the last ones come and go.
    let (old, new) = (output.count, chunkCount)
    let kept = min(old, new)
    let touched =
      isSameSize ? touchedChunks(by: input.change?.changeset ?? .empty, of: kept) : Array(0..<kept)
    let change = Changeset(
      deletions: Array(kept..<old), insertions: Array(kept..<new),
      updates: touched.map { .init(from: $0, to: $0) })
    if !change.isEmpty { output.apply(valid: change) { chunk($0) } }
  }

  /// The number of chunks of the input.
  @inlinable var chunkCount: Int {
    let count = input.snapshot.count
    return count / size + (count % size > 0 ? 1 : 0)
  }

  /// Returns a chunk of the input.
  @inlinable
  func chunk(_ number: Int) -> Chunk {
    let (elements, start) = (input.snapshot, number * size)
    let range = start..<start + min(size, elements.count - start)
    return Chunk(key: number, elements: elements.storage.elements(in: range))
  }

  /// Returns the numbers of the first chunks that may not have the same elements as before.
  ///
  /// The element at an offset is the same if it did not change, and as many elements arrived before it as left.
  ///
  /// - Parameters:
  ///   - changeset: The change of the input.
  ///   - count: The number of chunks that were there before, and are now.
  @inlinable
  func touchedChunks(by changeset: Changeset, of count: Int) -> [Int] {
    var steps: [(offset: Int, shift: Int)] = []
    steps += changeset.deletions.map { ($0, -1) }
    steps += changeset.insertions.map { ($0, 1) }
    for move in changeset.moves { steps += [(move.from, -1), (move.to, 1)] }
    steps += changeset.updates.map { ($0.to, 0) }
    steps.sort { $0.offset < $1.offset }
    var (touched, next, shift) = ([Int](), 0, 0)
    for (index, step) in steps.enumerated() {
      shift += step.shift
      let first = step.offset / size
      // Elements up to the next step are at other offsets than before.
      let isLast = index + 1 == steps.count
      let last = shift == 0 ? first : isLast ? count : max(0, steps[index + 1].offset - 1) / size
      let chunks = max(next, first)..<max(next, first, min(max(first, last) + 1, count))
      touched += chunks
      next = max(next, chunks.upperBound)
    }
    return touched
  }
}
