import Diffing

extension MergeConflict.Resolved: CustomStringConvertible {
  /// The key of the element, the edits of both sides, and the winner, in one line.
  ///
  /// ```
  /// conflict at "Tea": both sides edited it (count is 2 in mine and 3 in theirs); theirs wins
  /// ```
  ///
  /// Long values are shortened to the part that differs. Control characters are escaped, because they could control a
  /// terminal. An element that conforms to `ChangeDescribable` returns its own fields.
  public var description: String {
    "conflict at \(key): \(edits); \(winner) wins"
  }

  private var key: String {
    let element = conflict.theirs ?? conflict.mine ?? conflict.base
    return element.map { shown(ValueFormatter.text(of: $0.differenceIdentifier)) } ?? ""
  }

  private var edits: String {
    switch conflict.kind {
    case .edited: "both sides edited it\(fields)"
    case .added: "both sides added it\(fields)"
    case .deletedByMine: "mine deleted it, theirs edited it\(fields)"
    case .deletedByTheirs: "theirs deleted it, mine edited it\(fields)"
    case .moved: "both sides moved it, to different places"
    }
  }

  private var winner: String {
    switch resolution {
    case .mine: "mine"
    case .theirs: "theirs"
    case .merged: "the merged value"
    }
  }

  /// The fields in which the two sides differ, or that one side has edited.
  private var fields: String {
    let isBoth = conflict.mine != nil && conflict.theirs != nil
    let old = isBoth ? conflict.mine : conflict.base
    guard let old, let new = conflict.theirs ?? conflict.mine else { return "" }
    let style = ChangeDescription.Style()
    let fields = ChangeDescription.changedFields(from: old, to: new)
    if fields.isEmpty { return "" }
    let described = fields.prefix(style.fieldLimit).map { field in
      let name = shown(field.name)
      let (old, new) = ValueFormatter.shortened(
        field.old ?? "nothing", field.new ?? "nothing", to: style.valueLength)
      return isBoth ? "\(name) is \(old) in mine and \(new) in theirs" : "\(name): \(old) → \(new)"
    }
    let rest = fields.count - described.count
    return " (\(described.joined(separator: ", "))\(rest > 0 ? ", and \(rest) more" : ""))"
  }

  private func shown(_ text: String) -> String {
    ValueFormatter.shortened(text, to: ChangeDescription.Style().valueLength)
  }
}
