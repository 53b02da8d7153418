/// Stretches by ascending new offset, as few as can be.
struct StretchList {
  private var stretches: [PartialInjection.Stretch] = []
  private let updates: [Changeset.Update]
  private var update = 0

  /// - Parameters:
  ///   - capacity: How many there may be.
  ///   - updates: What is updated, by ascending new offset.
  init(capacity: Int, updates: [Changeset.Update] = []) {
    self.updates = updates
    stretches.reserveCapacity(capacity)
  }

  /// The position of the one that was added last.
  var lastPosition: Int { stretches.count - 1 }

  /// Adds a stretch behind all others, and marks what is updated of it.
  mutating func append(_ stretch: PartialInjection.Stretch) {
    var rest = stretch
    while update < updates.count && updates[update].to < stretch.new + stretch.count {
      let count = updates[update].to - rest.new
      update += 1
      guard count >= 0 else { continue }
      var part = rest
      part.count = count
      add(part)
      part.old += count
      part.new += count
      part.count = 1
      part.isUpdated = true
      add(part)
      rest.old += count + 1
      rest.new += count + 1
      rest.count -= count + 1
    }
    add(rest)
  }

  private mutating func add(_ stretch: PartialInjection.Stretch) {
    guard stretch.count > 0 else { return }
    if let last = stretches.indices.last, stretches[last].extend(by: stretch) { return }
    stretches.append(stretch)
  }

  /// Takes all of them, once the endless one is there: something may have been cut off it or added.
  consuming func finish() -> [PartialInjection.Stretch] {
    stretches[stretches.count - 1].count = PartialInjection.Stretch.endless
    return stretches
  }
}
