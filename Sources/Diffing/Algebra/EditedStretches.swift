/// A collection as the stretches of an old version that it consists of now, for single edits.
///
/// Different from `PartialInjection`, it holds what was inserted as well, and no offset but those of the
/// old version: an edit changes nothing behind it.
struct EditedStretches: Sendable {
  private struct Stretch: Sendable {
    /// The first element's offset in the old version; -1 where all were inserted.
    var old: Int
    var count: Int
    var isMoved = false
    var isUpdated = false

    var isInserted: Bool { old < 0 }

    /// Takes in what follows it, if it is of one kind and in step.
    mutating func extend(by next: Stretch) -> Bool {
      guard
        isInserted ? next.isInserted : old + count == next.old && isUpdated == next.isUpdated
      else { return false }
      count += next.count
      // What has come to stand next to one that never left the order is in order too.
      isMoved = isMoved && next.isMoved
      return true
    }
  }

  /// In the order of the new version; the last one is kept and endless.
  private var stretches = [Stretch(old: 0, count: PartialInjection.Stretch.endless)]
  private(set) var isUntouched = true

  /// The number of stretches.
  var count: Int { stretches.count }

  /// Does an edit.
  ///
  /// - Complexity: O(`count`).
  mutating func apply(_ edit: EditRecord.Edit) {
    isUntouched = false
    switch edit {
    case .insertion(let range):
      insert(Stretch(old: -1, count: range.count), at: range.lowerBound)
    case .removal(let range):
      let first = split(at: range.lowerBound)
      stretches.removeSubrange(first..<split(at: range.upperBound))
      join(at: first)
    case .update(let offset):
      update(at: offset)
    case .move(let source, let destination):
      let index = split(at: source)
      _ = split(at: source + 1)
      var moved = stretches.remove(at: index)
      join(at: index)
      moved.isMoved = true
      insert(moved, at: destination)
    case .changeset:
      preconditionFailure("a changeset is no single edit")
    }
  }

  private mutating func insert(_ stretch: Stretch, at offset: Int) {
    let index = split(at: offset)
    stretches.insert(stretch, at: index)
    join(at: index + 1)
    join(at: index)
  }

  private mutating func update(at offset: Int) {
    let (index, start) = find(offset)
    if stretches[index].isInserted || stretches[index].isUpdated { return }
    var updated = stretches[index]
    let before = offset - start
    if before + 1 < updated.count {
      var rest = updated
      rest.old += before + 1
      rest.count = index == stretches.count - 1 ? rest.count : rest.count - before - 1
      stretches.insert(rest, at: index + 1)
    }
    updated.old += before
    updated.count = 1
    updated.isUpdated = true
    if before > 0 {
      stretches[index].count = before
      stretches.insert(updated, at: index + 1)
      join(at: index + 2)
    } else {
      stretches[index] = updated
      join(at: index + 1)
      join(at: index)
    }
  }

  /// The stretch that an offset lies in, and where it starts.
  private func find(_ offset: Int) -> (index: Int, start: Int) {
    var index = 0
    var start = 0
    while start + stretches[index].count <= offset {
      start += stretches[index].count
      index += 1
    }
    return (index, start)
  }

  /// Makes a stretch begin at an offset.
  ///
  /// - Returns: Its position.
  private mutating func split(at offset: Int) -> Int {
    let (index, start) = find(offset)
    let count = offset - start
    if count == 0 { return index }
    var rest = stretches[index]
    if !rest.isInserted { rest.old += count }
    // The endless one stays endless.
    if index < stretches.count - 1 { rest.count -= count }
    stretches[index].count = count
    stretches.insert(rest, at: index + 1)
    return index + 1
  }

  /// Makes one of a stretch and the one before it where that can be.
  private mutating func join(at index: Int) {
    guard index > 0, index < stretches.count else { return }
    let isLast = index == stretches.count - 1
    guard stretches[index - 1].extend(by: stretches[index]) else { return }
    stretches.remove(at: index)
    if isLast { stretches[index - 1].count = PartialInjection.Stretch.endless }
  }

  /// What is kept of the old version.
  ///
  /// - Complexity: O(*k*) for `count` stretches, O(*k* log *k*) where some left the order.
  var injection: PartialInjection {
    var list = StretchList(capacity: stretches.count)
    var new = 0
    for stretch in stretches {
      if !stretch.isInserted {
        list.append(
          PartialInjection.Stretch(
            old: stretch.old, new: new, count: stretch.count, isMoved: stretch.isMoved,
            isUpdated: stretch.isUpdated))
      }
      new += stretch.count
    }
    return PartialInjection(list.finish())
  }
}
