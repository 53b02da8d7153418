extension PartialInjection {
  /// This and the one after it as one.
  ///
  /// The stretches of both are split at each other's borders; what is left is kept by both.
  ///
  /// - Parameter next: What leads on from where this one leads to.
  /// - Complexity: O(*k*) for *k* stretches in both.
  package func followed(by next: PartialInjection) -> PartialInjection {
    let capacity = stretches.count + next.stretches.count
    var list = StretchList(capacity: capacity)
    if byOld == nil && next.byOld == nil {
      forEachPiece(with: next) { piece, _, _ in list.append(piece) }
      return PartialInjection(list.finish(), byOld: nil)
    }

    // By ascending offset in the version between the two. There, the pieces of one stretch of either
    // stand side by side, and in the same order on its other side.
    var pieces: [Stretch] = []
    pieces.reserveCapacity(capacity)
    var parts = [Range<Int>](repeating: 0..<0, count: stretches.count)
    var nextParts = [Range<Int>](repeating: 0..<0, count: next.stretches.count)
    forEachPiece(with: next) { piece, first, second in
      let index = pieces.count
      parts[first] = (parts[first].isEmpty ? index : parts[first].lowerBound)..<index + 1
      nextParts[second] =
        (nextParts[second].isEmpty ? index : nextParts[second].lowerBound)..<index + 1
      pieces.append(piece)
    }

    var positions = [Int](repeating: 0, count: pieces.count)
    for part in nextParts {
      for piece in part {
        list.append(pieces[piece])
        positions[piece] = list.lastPosition
      }
    }
    var order: [Int] = []
    order.reserveCapacity(list.lastPosition + 1)
    var isInOrder = true
    for stretch in stretches.indices {
      for piece in parts[byOld?[stretch] ?? stretch] where positions[piece] != order.last {
        if positions[piece] != order.count { isInOrder = false }
        order.append(positions[piece])
      }
    }
    return PartialInjection(list.finish(), byOld: isInOrder ? nil : order)
  }

  /// Visits what a stretch of this and one of the next have in common, by ascending offset in between.
  private func forEachPiece(
    with next: PartialInjection, _ body: (_ piece: Stretch, _ first: Int, _ second: Int) -> Void
  ) {
    var one = 0
    var two = 0
    while one < stretches.count && two < next.stretches.count {
      let position = next.byOld?[two] ?? two
      let (first, second) = (stretches[one], next.stretches[position])
      let (firstEnd, secondEnd) = (first.new + first.count, second.old + second.count)
      let (start, end) = (max(first.new, second.old), min(firstEnd, secondEnd))
      if start < end {
        let piece = Stretch(
          old: first.old + (start - first.new), new: second.new + (start - second.old),
          count: end - start, isMoved: first.isMoved || second.isMoved,
          isUpdated: first.isUpdated || second.isUpdated)
        body(piece, one, position)
      }
      if firstEnd < secondEnd { one += 1 } else { two += 1 }
    }
  }

  /// Several, one after the other, as one.
  ///
  /// - Complexity: O(*k* log *m*) for *m* of them with *k* stretches in all.
  package static func composed(of parts: some Sequence<PartialInjection>) -> PartialInjection {
    var counter = BinaryCounter<PartialInjection>()
    for part in parts { counter.append(part) { $0.followed(by: $1) } }
    return counter.total { $0.followed(by: $1) } ?? PartialInjection(.empty)
  }

  /// This, with some more elements kept.
  ///
  /// - Parameters:
  ///   - pairs: Old and new offsets of which none is kept so far, by ascending new offset.
  ///   - areUpdated: For each of them whether its content differs.
  /// - Complexity: O(*k* log *k*) in all stretches and pairs.
  func keeping(_ pairs: [Changeset.Update], areUpdated: [Bool]) -> PartialInjection {
    var list = StretchList(capacity: stretches.count + pairs.count)
    var pair = 0
    for stretch in stretches {
      while pair < pairs.count && pairs[pair].to < stretch.new {
        list.append(
          Stretch(
            old: pairs[pair].from, new: pairs[pair].to, count: 1, isMoved: true,
            isUpdated: areUpdated[pair]))
        pair += 1
      }
      list.append(stretch)
    }
    return PartialInjection(list.finish())
  }
}
