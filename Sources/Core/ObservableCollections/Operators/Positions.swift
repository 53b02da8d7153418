public import Diffing

// What operators need of a change of their input: what leaves and arrives, in which order; and if many elements change,
// where each element comes from.

/// Where an element of a list comes from.
@usableFromInline
struct Origin {
  /// The offset before the change, or -1 for an inserted element.
  @usableFromInline let offset: Int
  @usableFromInline let isUpdated: Bool

  @inlinable
  init(offset: Int, isUpdated: Bool) {
    (self.offset, self.isUpdated) = (offset, isUpdated)
  }
}

extension Changeset {
  /// Returns whether visiting all elements takes less time than following each operation.
  @inlinable
  func isLarge(forCount count: Int) -> Bool { changeCount > max(4, count / 32) }

  /// Visits what leaves its place and what arrives, in the order in which a list must be edited.
  ///
  /// - Parameters:
  ///   - depart: A closure that is called for each deleted and moved element, by descending offset before the change.
  ///     The number of a move is its position in ``moves``. A deletion has none.
  ///   - arrive: A closure that is called for each inserted and moved element, by ascending offset after the change.
  /// - Complexity: O(*k* + *m* log *m*) for *k* operations, *m* of them moves.
  @inlinable
  func rearrange(
    depart: (_ offset: Int, _ move: Int?) -> Void, arrive: (_ offset: Int, _ move: Int?) -> Void
  ) {
    let leaving =
      moves.count < 2
      ? Array(moves.indices) : moves.indices.sorted { moves[$0].from < moves[$1].from }
    var (deletion, departure) = (deletions.count, leaving.count)
    while deletion > 0 || departure > 0 {
      let move = departure > 0 ? leaving[departure - 1] : nil
      if let move, deletion == 0 || moves[move].from > deletions[deletion - 1] {
        departure -= 1
        depart(moves[move].from, move)
      } else {
        deletion -= 1
        depart(deletions[deletion], nil)
      }
    }
    forEachArrival(arrive)
  }

  /// Visits each inserted and moved element, by ascending offset after the change.
  ///
  /// - Parameter body: A closure that is called with the offset, and with the number of the move or `nil`.
  /// - Complexity: O(*k*) for *k* insertions and moves.
  @inlinable
  func forEachArrival(_ body: (_ offset: Int, _ move: Int?) -> Void) {
    var move = 0
    for offset in insertions {
      while move < moves.count, moves[move].to < offset {
        body(moves[move].to, move)
        move += 1
      }
      body(offset, nil)
    }
    for move in move..<moves.count { body(moves[move].to, move) }
  }

  /// Returns where each element comes from.
  ///
  /// - Parameter oldCount: The number of elements before the change.
  /// - Complexity: O(*n* + *k* log *k*) for *k* moves.
  @usableFromInline
  func elementOrigins(oldCount: Int) -> [Origin] {
    var update = 0
    return origins(oldCount: oldCount).enumerated().map { offset, origin in
      let isUpdated = update < updates.count && updates[update].to == offset
      if isUpdated { update += 1 }
      return Origin(offset: origin, isUpdated: isUpdated)
    }
  }
}

extension CollectionDraft {
  /// Replaces all elements, and records where each of them comes from.
  ///
  /// - Complexity: O(*n* + *k* log *k*) for *k* elements that are out of order.
  @inlinable
  func replace(with elements: [Element], from origins: [Origin]) {
    replace(
      with: Snapshot(elements),
      by: Changeset(origins: origins.map { $0.offset }, oldCount: count) { _, new in
        origins[new].isUpdated
      },
      isNormal: false)
  }
}
