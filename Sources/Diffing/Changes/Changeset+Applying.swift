extension Changeset {
  /// Applies the change to the old version.
  ///
  /// Deletions and origins of moves are taken out; insertions and destinations of moves are put in by
  /// ascending offset; updates are written. Only what was inserted or updated is read from the new
  /// version, all else stays what it was in the old one.
  ///
  /// - Parameters:
  ///   - old: The version that the changeset was made from.
  ///   - new: The version that it leads to.
  /// - Returns: The new version's elements.
  /// - Precondition: The changeset fits the two in count.
  /// - Complexity: O(*n*).
  @inlinable
  public func applying<Element>(
    to old: some Collection<Element>, with new: some Collection<Element>
  ) -> [Element] {
    let old = Array(old)
    precondition(
      old.count + countChange == new.count,
      "A change from \(old.count) elements by \(countChange) does not lead to \(new.count)")
    if isEmpty { return old }
    return applying(
      to: old, inserted: elements(of: new, at: insertions),
      updated: elements(of: new, at: updates.map(\.to)))
  }

  /// Applies the change to the old version, see `applying(to:with:)`.
  ///
  /// - Parameters:
  ///   - old: The version that the changeset was made from.
  ///   - inserted: The inserted elements, in order.
  ///   - updated: The new elements of the updates, in order.
  /// - Precondition: No offset lies outside of the versions.
  @inlinable
  package func applying<Element>(
    to old: [Element], inserted: [Element], updated: [Element]
  ) -> [Element] {
    var result: [Element] = []
    result.reserveCapacity(old.count + countChange)
    let removals = removals
    var removal = 0
    var taken = 0
    // Appends what stayed until the result has so many elements.
    func appendStayed(upTo count: Int) {
      while result.count < count {
        let end = removal < removals.count ? removals[removal] : old.count
        precondition(
          taken < end || removal < removals.count, "\(self) does not fit so few elements")
        let stretch = Swift.min(end - taken, count - result.count)
        result.append(contentsOf: old[taken..<taken + stretch])
        taken += stretch
        if taken == end, removal < removals.count {
          taken += 1
          removal += 1
        }
      }
    }
    var insertion = 0
    var move = 0
    while insertion < insertions.count || move < moves.count {
      let isInsertion =
        move == moves.count
        || (insertion < insertions.count && insertions[insertion] < moves[move].to)
      appendStayed(upTo: isInsertion ? insertions[insertion] : moves[move].to)
      if isInsertion {
        result.append(inserted[insertion])
        insertion += 1
      } else {
        result.append(old[moves[move].from])
        move += 1
      }
    }
    appendStayed(upTo: old.count + countChange)
    // By index: iterating allocates in code that is not specialized.
    for position in 0..<updates.count { result[updates[position].to] = updated[position] }
    return result
  }

  /// The elements at some ascending offsets.
  ///
  /// This method walks forward once. Otherwise, a collection without random access would be walked from its
  /// start for each element.
  @inlinable
  func elements<Element>(of collection: some Collection<Element>, at offsets: [Int]) -> [Element] {
    var index = collection.startIndex
    var position = 0
    return offsets.map { offset in
      collection.formIndex(&index, offsetBy: offset - position)
      position = offset
      return collection[index]
    }
  }

  /// What is left of the old version without the elements at some ascending offsets.
  @inlinable
  func removing<Element>(_ removals: [Int], from old: [Element]) -> [Element] {
    guard !removals.isEmpty else { return old }
    var stayed: [Element] = []
    stayed.reserveCapacity(old.count - removals.count)
    var next = 0
    for removal in removals {
      stayed.append(contentsOf: old[next..<removal])
      next = removal + 1
    }
    stayed.append(contentsOf: old[next...])
    return stayed
  }
}
