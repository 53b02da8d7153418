/// The combined change of consecutive steps of a patch, with the elements that the steps touch.
struct PatchReplay<Element> {
  private let map: OffsetMap
  /// The deleted, updated and moved elements before the first step that touches them, by old offset.
  private var first: [Int: Element] = [:]
  /// The inserted and updated elements after the last step that changes them, by new offset.
  private var last: [Int: Element] = [:]

  private init(_ map: OffsetMap) {
    self.map = map
  }

  /// Creates the change of one step, or `nil` if the step changes nothing.
  init?(_ step: Patch<Element>.Step) {
    guard let changeset = step.changeset else { return nil }
    self.init(OffsetMap(changeset))
    switch step {
    case .insert(let element, let offset): last[offset] = element
    case .remove(let element, let offset): first[offset] = element
    case .update(let old, let new, let offset):
      first[offset] = old
      last[offset] = new
    case .move(let element, let source, _): first[source] = element
    }
  }

  /// Returns the combined change of these steps and the next ones.
  ///
  /// - Complexity: O(*k* log *k*) for *k* steps in both.
  func followed(by next: PatchReplay) -> PatchReplay {
    var result = PatchReplay(map.followed(by: next.map))
    result.first = first
    for (offset, element) in next.first {
      // An element that these steps have inserted has no old offset.
      guard let old = map.origin(of: offset), first[old] == nil else { continue }
      result.first[old] = element
    }
    result.last = next.last
    for (offset, element) in last {
      guard let new = next.map[offset], next.last[new] == nil else { continue }
      result.last[new] = element
    }
    return result
  }

  /// The change with its elements. Only elements that a step has moved are moved.
  var record: ChangeRecord<Element> {
    let changeset = map.changeset(movesOthers: false)
    return ChangeRecord(
      changeset: changeset,
      deleted: changeset.deletions.compactMap { first[$0] },
      inserted: changeset.insertions.compactMap { last[$0] },
      replaced: changeset.updates.compactMap { first[$0.from] },
      updated: changeset.updates.compactMap { last[$0.to] },
      moved: changeset.moves.map { first[$0.from] })
  }
}
