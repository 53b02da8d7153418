extension Changeset {
  /// Describes the change line by line, see ``ChangeDescription``.
  ///
  /// - Parameters:
  ///   - old: The version that the changeset was made from.
  ///   - new: The version that it leads to.
  ///   - style: How much is told, and how.
  ///   - body: Takes the lines, each without a line feed.
  /// - Returns: How many lines are left out.
  package func describe<Element>(
    from old: some RandomAccessCollection<Element>, to new: some RandomAccessCollection<Element>,
    style: ChangeDescription.Style, _ body: (String) -> Void
  ) -> Int {
    let writer = ChangeLineWriter(style: style)
    var count = 0
    forEachInOrder { change in
      count += 1
      if let limit = style.lineLimit, count > limit { return }
      switch change {
      case .deletion(let offset):
        body(writer.line("-", "[\(offset)]", old.element(at: offset)))
      case .insertion(let offset):
        body(writer.line("+", "[\(offset)]", new.element(at: offset)))
      case .update(let update):
        body(
          writer.updateLine(
            "~", "[\(update.to)]", old.element(at: update.from), new.element(at: update.to)))
      case .move(let move, let isUpdated):
        let (source, element) = (old.element(at: move.from), new.element(at: move.to))
        let place = "[\(move.from)] → [\(move.to)]"
        body(
          isUpdated
            ? writer.updateLine(">", place, source, element)
            : writer.moveLine(">", place, element))
      }
    }
    return style.lineLimit.map { max(0, count - $0) } ?? 0
  }

  /// What happened to one element.
  private enum Single {
    case deletion(Int)
    case insertion(Int)
    case update(Update)
    case move(Move, isUpdated: Bool)
  }

  /// Calls a closure for each element that the change touches, in the order of the new version, what was
  /// deleted where it was.
  ///
  /// What stayed has one order on both sides: each change stands behind so many that stayed.
  private func forEachInOrder(_ body: (Single) -> Void) {
    let removals = removals
    var (deletion, removal) = (0, 0)
    var (insertion, move, update) = (0, 0, 0)

    /// Deletions behind at most so many that stayed.
    func tellDeletions(behind rank: Int) {
      while deletion < deletions.count {
        let offset = deletions[deletion]
        while removal < removals.count, removals[removal] < offset { removal += 1 }
        guard offset - removal <= rank else { return }
        body(.deletion(offset))
        deletion += 1
      }
    }

    while true {
      let inserted = insertion < insertions.count ? insertions[insertion] : .max
      let moved = move < moves.count ? moves[move].to : .max
      let updated = update < updates.count ? updates[update].to : .max
      let offset = min(inserted, moved, updated)
      guard offset < .max else { break }
      tellDeletions(behind: offset - insertion - move)
      if offset == inserted {
        body(.insertion(offset))
        insertion += 1
      } else if offset == moved {
        let isUpdated = offset == updated
        body(.move(moves[move], isUpdated: isUpdated))
        move += 1
        update += isUpdated ? 1 : 0
      } else {
        body(.update(updates[update]))
        update += 1
      }
    }
    tellDeletions(behind: .max)
  }
}
