import Diffing

/// The changes of one side to the base, as offsets.
struct MergeSide {
  /// An element that one side moved or deleted.
  struct Departure {
    /// The offset in the base.
    let base: Int
    /// The index in `arrivals`, or -1 for a deleted element.
    let arrival: Int
  }

  /// The deleted and moved elements, by ascending offset in the base.
  let departures: [Departure]
  /// The ascending offsets of inserted and moved elements on this side.
  let arrivals: [Int]
  /// The indices in `arrivals` of the inserted elements.
  let insertions: [Int]
  /// The ascending offsets of inserted elements.
  let insertedOffsets: [Int]
  /// The edited elements, by ascending offset in the base.
  let edits: [Changeset.Update]

  init(_ changes: Changeset) {
    let all = changes.insertions.map { (offset: $0, base: -1) }
      .merged(with: changes.moves.map { ($0.to, $0.from) }) { $0.offset < $1.offset }
    arrivals = all.map(\.offset)
    insertions = all.indices.filter { all[$0].base < 0 }
    let moved = all.indices.filter { all[$0].base >= 0 }
      .map { Departure(base: all[$0].base, arrival: $0) }
      .sorted { $0.base < $1.base }
    departures = changes.deletions.map { Departure(base: $0, arrival: -1) }
      .merged(with: moved) { $0.base < $1.base }
    insertedOffsets = changes.insertions
    edits = changes.updates.sorted { $0.from < $1.from }
  }
}

/// Iterates over the elements of the base that one side changed.
struct MergeCursor {
  private let side: MergeSide
  private var departure = 0
  private var edit = 0
  private var arrival = 0

  /// The state of an element of the base on this side.
  struct Outcome {
    /// The offset on this side, or -1 for a deleted element.
    let offset: Int
    let isEdited: Bool
    let hasDeparted: Bool
    /// The index in `arrivals` of a moved element, or -1.
    let arrival: Int

    var isMoved: Bool { arrival >= 0 }
  }

  init(_ side: MergeSide) {
    self.side = side
  }

  /// The next offset in the base that this side changed, or `Int.max`.
  var next: Int {
    min(
      departure < side.departures.count ? side.departures[departure].base : .max,
      edit < side.edits.count ? side.edits[edit].from : .max)
  }

  /// Returns the state of an element of the base.
  ///
  /// Offsets must ascend, and must not be greater than `next`.
  mutating func outcome(at base: Int) -> Outcome {
    var isEdited = false
    if edit < side.edits.count, side.edits[edit].from == base {
      isEdited = true
      edit += 1
    }
    if departure < side.departures.count, side.departures[departure].base == base {
      let arrival = side.departures[departure].arrival
      departure += 1
      return Outcome(
        offset: arrival < 0 ? -1 : side.arrivals[arrival], isEdited: isEdited, hasDeparted: true,
        arrival: arrival)
    }
    let rank = base - departure
    while arrival < side.arrivals.count, side.arrivals[arrival] - arrival <= rank { arrival += 1 }
    return Outcome(offset: rank + arrival, isEdited: isEdited, hasDeparted: false, arrival: -1)
  }
}
