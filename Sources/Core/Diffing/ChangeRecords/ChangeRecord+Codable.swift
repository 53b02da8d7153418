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

extension ChangeRecord: Decodable where Element: Decodable {
  /// Reads a change in the format of `livelist`.
  ///
  /// - Throws: A `DecodingError` with the path of the error. Errors are a missing list or member,
  ///   an offset that is negative, duplicate or out of order, and an update of an element that is
  ///   not kept.
  /// - Complexity: O(*k* log *k*) in the *k* offsets of the change.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: ChangePart.self)
    let deletes = try Self.elements(.deletes, in: container)
    let inserts = try Self.elements(.inserts, in: container)

    var updates: [Changeset.Update] = []
    var replaced: [Element] = []
    var updated: [Element] = []
    try container.forEach(in: .updates) { item in
      updates.append(
        Changeset.Update(
          from: try item.offset(.from), to: try item.offset(.at, after: updates.last?.to)))
      replaced.append(try item.decode(Element.self, forKey: .old))
      updated.append(try item.decode(Element.self, forKey: .element))
    }
    var moves: [Changeset.Move] = []
    var moved: [Element?] = []
    try container.forEach(in: .moves) { item in
      moves.append(
        Changeset.Move(
          from: try item.offset(.from), to: try item.offset(.to, after: moves.last?.to)))
      // An element can be null, so test for the member itself.
      moved.append(
        item.contains(.element) ? .some(try item.decode(Element.self, forKey: .element)) : nil)
    }
    let changeset = Changeset(
      uncheckedDeletions: deletes.offsets, insertions: inserts.offsets, moves: moves,
      updates: updates)
    if let fault = changeset.fault {
      throw DecodingError.dataCorrupted(
        DecodingError.Context(
          codingPath: decoder.codingPath + fault.path, debugDescription: fault.description))
    }
    self.init(
      changeset: changeset, deleted: deletes.elements, inserted: inserts.elements,
      replaced: replaced, updated: updated, moved: moved)
  }

  private static func elements(
    _ part: ChangePart, in container: KeyedDecodingContainer<ChangePart>
  ) throws -> (offsets: [Int], elements: [Element]) {
    var offsets: [Int] = []
    var elements: [Element] = []
    try container.forEach(in: part) { item in
      offsets.append(try item.offset(.at, after: offsets.last))
      elements.append(try item.decode(Element.self, forKey: .element))
    }
    return (offsets, elements)
  }
}

extension KeyedDecodingContainer<ChangePart> {
  fileprivate func forEach(
    in part: ChangePart, _ body: (KeyedDecodingContainer<ChangeMember>) throws -> Void
  ) throws {
    var items = try nestedUnkeyedContainer(forKey: part)
    while !items.isAtEnd { try body(try items.nestedContainer(keyedBy: ChangeMember.self)) }
  }
}

extension KeyedDecodingContainer<ChangeMember> {
  /// Decodes an offset.
  ///
  /// - Parameter last: The previous offset in an ascending list.
  fileprivate func offset(_ member: ChangeMember, after last: Int? = nil) throws -> Int {
    let offset = try decode(Int.self, forKey: member)
    func fault(_ description: String) -> DecodingError {
      .dataCorruptedError(forKey: member, in: self, debugDescription: description)
    }
    if offset < 0 { throw fault("offset \(offset) is out of range; offsets begin at 0") }
    if !offsetBounds.contains(offset) {
      throw fault("offset \(offset) is out of range \(offsetBounds)")
    }
    if let last, offset == last { throw fault("offset \(offset) occurs twice in this list") }
    if let last, offset < last {
      throw fault("offset \(offset) follows \(last), but offsets must be in ascending order")
    }
    return offset
  }
}

/// An inconsistency of decoded offsets.
private struct OffsetFault {
  let path: [any CodingKey]
  let description: String

  init(_ part: ChangePart, _ position: Int, _ member: ChangeMember, _ description: String) {
    path = [part, Position(position), member]
    self.description = description
  }

  /// A position in a list, as part of the path of an error.
  private struct Position: CodingKey {
    let intValue: Int?
    var stringValue: String { "Index \(intValue ?? 0)" }

    init(_ position: Int) { intValue = position }
    init(intValue: Int) { self.intValue = intValue }
    init?(stringValue: String) { nil }
  }
}

extension Changeset {
  /// The first inconsistency of the ascending lists with each other.
  fileprivate var fault: OffsetFault? {
    var origins: Set<Int> = []
    for (position, move) in moves.enumerated() {
      if !origins.insert(move.from).inserted {
        return OffsetFault(.moves, position, .from, "another move is also from \(move.from)")
      }
      if deletions.hasAscending(move.from) {
        return OffsetFault(
          .moves, position, .from, "the element at \(move.from) is deleted and moved")
      }
      if insertions.hasAscending(move.to) {
        return OffsetFault(
          .moves, position, .to, "the element at \(move.to) is inserted and moved")
      }
    }
    for (position, update) in updates.enumerated() {
      if deletions.hasAscending(update.from) {
        return OffsetFault(
          .updates, position, .from, "the element at \(update.from) is deleted and updated")
      }
      if insertions.hasAscending(update.to) {
        return OffsetFault(
          .updates, position, .at, "the element at \(update.to) is inserted and updated")
      }
    }
    return misplacedUpdate.map { position, origin in
      OffsetFault(
        .updates, position, .from,
        "the element at \(updates[position].to) was at \(origin), not at \(updates[position].from)")
    }
  }
}

extension Patch: Encodable where Element: Encodable {
  /// Writes the combined change of all steps in the format of `livelist`.
  ///
  /// The offsets are simultaneous; see ``ChangeRecord/init(_:)``. A move has its element, unless
  /// the element is also updated.
  ///
  /// - Throws: An `EncodingError` if a step has an invalid offset, and the errors of the encoder
  ///   and of the elements.
  /// - Complexity: O(*k* log *k*) for *k* steps.
  public func encode(to encoder: any Encoder) throws {
    for (position, step) in steps.enumerated() {
      guard let offset = step.invalidOffset else { continue }
      throw EncodingError.invalidValue(
        offset,
        EncodingError.Context(
          codingPath: encoder.codingPath,
          debugDescription:
            "offset \(offset) in step \(position) of the patch is out of range \(offsetBounds)"))
    }
    try ChangeRecord(self).encode(to: encoder)
  }
}

extension Patch: Decodable where Element: Decodable {
  /// Reads a change in the format of `livelist` as steps.
  ///
  /// A patch needs the elements of its moves, which `livelist` does not write. To read a change
  /// with such a move, decode a ``ChangeRecord``, and create a patch from the record and the old
  /// version.
  ///
  /// - Throws: A `DecodingError` if the record is invalid, or if a move without an update has no
  ///   element.
  /// - Complexity: O(*k* log *k*) in the *k* offsets of the change.
  public init(from decoder: any Decoder) throws {
    let record = try ChangeRecord<Element>(from: decoder)
    var moved: [Element] = []
    for (position, move) in record.changeset.moves.enumerated() {
      if let element = record.moved[position] {
        moved.append(element)
      } else if let update = record.changeset.updatePosition(to: move.to) {
        moved.append(record.replaced[update])
      } else {
        throw DecodingError.keyNotFound(
          ChangeMember.element,
          DecodingError.Context(
            codingPath: decoder.codingPath + [ChangePart.moves],
            debugDescription: "the move from \(move.from) to \(move.to) has no element, which a "
              + "patch needs; decode a ChangeRecord, and create a patch using "
              + "Patch(record, from: old)"))
      }
    }
    self.init(record) { moved[$0] }
  }
}
