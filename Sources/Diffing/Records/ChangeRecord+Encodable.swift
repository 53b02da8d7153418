import SwappablePrimitives

extension ChangeRecord: Encodable where Element: Encodable {
  /// Writes the change in the format of `livelist`.
  ///
  /// - Throws: The errors of the encoder and of the elements.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: ChangePart.self)
    try encode(deleted, at: changeset.deletions, as: .deletes, in: &container)
    try encode(inserted, at: changeset.insertions, as: .inserts, in: &container)
    var updates = container.nestedUnkeyedContainer(forKey: .updates)
    for (position, update) in changeset.updates.enumerated() {
      var item = updates.nestedContainer(keyedBy: ChangeMember.self)
      try item.encode(update.from, forKey: .from)
      try item.encode(update.to, forKey: .at)
      try item.encode(replaced[position], forKey: .old)
      try item.encode(updated[position], forKey: .element)
    }
    var moves = container.nestedUnkeyedContainer(forKey: .moves)
    for (position, move) in changeset.moves.enumerated() {
      var item = moves.nestedContainer(keyedBy: ChangeMember.self)
      try item.encode(move.from, forKey: .from)
      try item.encode(move.to, forKey: .to)
      if let element = moved[position], changeset.updatePosition(to: move.to) == nil {
        try item.encode(element, forKey: .element)
      }
    }
  }

  private func encode(
    _ elements: [Element], at offsets: [Int], as part: ChangePart,
    in container: inout KeyedEncodingContainer<ChangePart>
  ) throws {
    var items = container.nestedUnkeyedContainer(forKey: part)
    for (offset, element) in zip(offsets, elements) {
      var item = items.nestedContainer(keyedBy: ChangeMember.self)
      try item.encode(offset, forKey: .at)
      try item.encode(element, forKey: .element)
    }
  }
}

enum ChangePart: String, CodingKey {
  case deletes, inserts, updates, moves
}

enum ChangeMember: String, CodingKey {
  case from, at, to, old, element
}

extension Changeset {
  /// Returns the position of the update that leads to a new offset, or `nil` if no update does.
  func updatePosition(to offset: Int) -> Int? {
    let position = updates.partitioningIndex { $0.to >= offset }
    return position < updates.count && updates[position].to == offset ? position : nil
  }
}
