import Diffing

/// The changes that turn one side into the merged result, and the origins of the new contents.
struct MergeChanges: Sendable {
  let changeset: Changeset
  /// The origin of the content of each insertion.
  ///
  /// A value of at least 0 is an offset on the other side. A negative value is the bitwise inverse
  /// of an index into the contents that the resolver made.
  let inserted: [Int]
  /// The origin of the content of each update, in the same form.
  let updated: [Int]

  enum Side {
    case mine
    case theirs
  }

  init(for side: Side, _ plan: MergePlan, _ order: MergeOrder) {
    let rest = side == .mine ? plan.mineRest : plan.theirRest
    func offsets(_ mine: Int, _ theirs: Int) -> (here: Int, there: Int) {
      side == .mine ? (mine, theirs) : (theirs, mine)
    }
    func isNew(_ content: MergePlan.Content) -> Bool {
      side == .mine ? content.isNewToMine : content.isNewToTheirs
    }
    func source(_ content: MergePlan.Content, _ there: Int) -> Int {
      content.value >= 0 ? ~content.value : there
    }

    var positions = Array(repeating: -1, count: plan.entries.count)
    for (position, entry) in rest.entries.enumerated() where entry >= 0 {
      positions[entry] = position
    }
    var matches: [Match] = []
    var inserted: [Int] = []
    var matchUpdates: [(update: Changeset.Update, source: Int)] = []
    matches.reserveCapacity(order.entries.count)
    for (position, number) in order.entries.enumerated() {
      let entry = plan.entries[number]
      let (here, there) = offsets(entry.mine, entry.theirs)
      if here < 0 {
        inserted.append(source(entry.content, there))
        continue
      }
      matches.append(Match(old: positions[number], new: position))
      if isNew(entry.content) {
        let update = Changeset.Update(from: here, to: order.offset(at: position))
        matchUpdates.append((update, source(entry.content, there)))
      }
    }

    var updates: [(update: Changeset.Update, source: Int)] = []
    updates.reserveCapacity(plan.chainEdits.count)
    var before = 0
    for edit in plan.chainEdits where isNew(edit.content) {
      while before < order.gaps.count, order.gaps[before] <= edit.rank { before += 1 }
      let (here, there) = offsets(edit.mine, edit.theirs)
      let update = Changeset.Update(from: here, to: edit.rank + before)
      updates.append((update, source(edit.content, there)))
    }

    changeset = Changeset(
      unmatchedOld: rest.offsets, unmatchedNew: order.entries.indices.map(order.offset(at:)),
      matches: matches, chainCount: plan.chainCount, updates: updates.map(\.update),
      matchUpdates: matchUpdates.map(\.update))
    self.inserted = inserted
    updated = updates.merged(with: matchUpdates) { $0.update.to < $1.update.to }.map(\.source)
  }
}
