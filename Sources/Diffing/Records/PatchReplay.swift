/// Follows the steps of a patch over a collection of which nothing else is known.
///
/// The collection is a sequence of stretches that no step has touched, and single elements that one
/// has.
struct PatchReplay<Element> {
  /// An element that a step has touched.
  private struct Touched {
    /// Its old offset; nil for what was inserted.
    let origin: Int?
    /// What it was at first.
    let first: Element
    /// What it is by now.
    var last: Element
    var isUpdated = false
    var isMoved = false
  }

  private var stretches = StretchSequence()
  private var touched: [Touched] = []
  /// What was removed and not inserted before.
  private var gone: [Int] = []

  mutating func apply(_ step: ElementChange<Element>) {
    switch step {
    case .insert(let element, let offset):
      touched.append(Touched(origin: nil, first: element, last: element))
      stretches.insert(.touched(touched.count - 1), at: offset)
    case .remove(let element, let offset):
      let index = take(at: offset, element)
      if touched[index].origin != nil { gone.append(index) }
    case .update(let old, let new, let offset):
      let index = take(at: offset, old)
      touched[index].last = new
      touched[index].isUpdated = true
      stretches.insert(.touched(index), at: offset)
    case .move(let element, let source, let destination):
      guard source != destination else { return }
      let index = take(at: source, element)
      touched[index].isMoved = true
      stretches.insert(.touched(index), at: destination)
    }
  }

  /// Takes an element out.
  private mutating func take(at offset: Int, _ element: Element) -> Int {
    switch stretches.remove(at: offset) {
    case .touched(let index): return index
    case .untouched(let origin, _):
      touched.append(Touched(origin: origin, first: element, last: element))
      return touched.count - 1
    }
  }

  // MARK: The result

  /// An element that was kept and moved, and where it is by now.
  private struct Mover {
    let origin: Int
    let destination: Int
    let index: Int
  }

  /// What all steps come to.
  func record() -> ChangeRecord<Element> {
    var insertions: [(offset: Int, index: Int)] = []
    var updates: [(update: Changeset.Update, index: Int)] = []
    var movers: [Mover] = []
    // Those elements that no step has moved are in order: what stands between two of them on both
    // sides need not move as long as it is in order itself.
    var fitting: [Mover] = []
    var waiting: [Mover] = []
    var lastStay = -1
    func stay(from first: Int, to last: Int) {
      for mover in waiting {
        if lastStay < mover.origin, mover.origin < first {
          fitting.append(mover)
        } else {
          movers.append(mover)
        }
      }
      waiting = []
      lastStay = last
    }
    var offset = 0
    stretches.forEach { stretch in
      defer { offset += stretch.count }
      switch stretch {
      case .untouched(let start, let count): stay(from: start, to: start + count - 1)
      case .touched(let index):
        let element = touched[index]
        guard let origin = element.origin else {
          insertions.append((offset, index))
          return
        }
        if element.isUpdated {
          updates.append((Changeset.Update(from: origin, to: offset), index))
        }
        if element.isMoved {
          waiting.append(Mover(origin: origin, destination: offset, index: index))
        } else {
          stay(from: origin, to: origin)
        }
      }
    }
    stay(from: .max, to: .max)
    if !fitting.isEmpty {
      let stays = longestIncreasingSubsequence(
        of: fitting.map { Run(start: $0.origin, count: 1) })
      for (mover, stays) in zip(fitting, stays) where !stays { movers.append(mover) }
    }
    movers.sort { $0.destination < $1.destination }
    let gone = gone.compactMap { index in touched[index].origin.map { (offset: $0, index: index) } }
      .sorted { $0.offset < $1.offset }
    return ChangeRecord(
      Changeset(
        deletions: gone.map(\.offset), insertions: insertions.map(\.offset),
        moves: movers.map { Changeset.Move(from: $0.origin, to: $0.destination) },
        updates: updates.map(\.update)),
      deleted: gone.map { touched[$0.index].first },
      inserted: insertions.map { touched[$0.index].last },
      replaced: updates.map { touched[$0.index].first },
      updated: updates.map { touched[$0.index].last },
      moved: movers.map { touched[$0.index].first })
  }
}
