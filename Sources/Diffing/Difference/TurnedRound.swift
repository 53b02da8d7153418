extension Changeset {
  /// What changed where a list was turned round as a whole, as it is when the direction of its order
  /// changes; nil where it was not.
  ///
  /// It is told by one pass over both, without a list of what was matched.
  ///
  /// - Parameters:
  ///   - old: The earlier version, of which a walk has paired nothing.
  ///   - new: The later version.
  @inlinable
  init?<Element: Differentiable>(
    turnedRound old: UnsafeBufferPointer<Element>, _ new: UnsafeBufferPointer<Element>
  ) {
    let count = old.count
    guard count >= 64, new.count == count, let old = old.baseAddress, let new = new.baseAddress
    else { return nil }
    let last = count - 1
    // A guess by a few at both ends and in the middle; only where they differ among themselves it is sure
    // that no other pairing comes first.
    for offset in [0, 1, 2, 3, count / 2, last - 1, last]
    where !sameIdentity(at: old + (last - offset), new + offset) {
      return nil
    }
    for offset in 1..<4
    where (0..<offset).contains(where: { sameIdentity(at: new + $0, new + offset) }) {
      return nil
    }
    var updates: [Update] = []
    for to in 0..<count {
      let from = last &- to
      if sameBits(old + from, new + to) { continue }
      guard sameIdentity(at: old + from, new + to) else { return nil }
      if !new[to].isContentEqual(to: old[from]) { updates.append(Update(from: from, to: to)) }
    }
    self.init(
      unchecked: (
        deletions: [], insertions: [], moves: Self.movesTurningRound(count), updates: updates
      ))
  }

  /// The moves of all but the first, which comes last.
  @usableFromInline
  static func movesTurningRound(_ count: Int) -> [Move] {
    [Move](unsafeUninitializedCapacity: count - 1) { moves, initialized in
      for to in 0..<count - 1 { moves[to] = Move(from: count - 1 - to, to: to) }
      initialized = count - 1
    }
  }
}
