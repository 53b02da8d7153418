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
    let check = OffsetCheck(
      deletions: deletes.offsets, insertions: inserts.offsets, moves: moves, updates: updates)
    if let fault = check.fault {
      throw DecodingError.dataCorrupted(
        DecodingError.Context(
          codingPath: decoder.codingPath + fault.path, debugDescription: fault.description))
    }
    self.init(
      Changeset(
        deletions: deletes.offsets, insertions: inserts.offsets, moves: moves, updates: updates),
      deleted: deletes.elements, inserted: inserts.elements, replaced: replaced, updated: updated,
      moved: moved)
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
  /// Reads an offset.
  ///
  /// - Parameter last: The previous offset in an ascending list.
  fileprivate func offset(_ member: ChangeMember, after last: Int? = nil) throws -> Int {
    let offset = try decode(Int.self, forKey: member)
    func fault(_ description: String) -> DecodingError {
      .dataCorruptedError(forKey: member, in: self, debugDescription: description)
    }
    if offset < 0 { throw fault("\(offset) is no offset; offsets count from 0") }
    if !offsetBounds.contains(offset) {
      throw fault("\(offset) is no offset; no collection is so large")
    }
    if let last, offset == last { throw fault("the offset \(offset) is named twice in this list") }
    if let last, offset < last {
      throw fault("the offset \(offset) follows \(last); the offsets of this list ascend")
    }
    return offset
  }
}

/// A check that decoded lists of offsets fit each other.
private struct OffsetCheck {
  struct Fault {
    let path: [any CodingKey]
    let description: String

    init(_ part: ChangePart, _ position: Int, _ member: ChangeMember, _ description: String) {
      path = [part, Position(position), member]
      self.description = description
    }
  }

  /// A position in a list, as part of the path of an error.
  struct Position: CodingKey {
    let intValue: Int?
    var stringValue: String { "Index \(intValue ?? 0)" }

    init(_ position: Int) { intValue = position }
    init(intValue: Int) { self.intValue = intValue }
    init?(stringValue: String) { nil }
  }

  let deletions: [Int]
  let insertions: [Int]
  let moves: [Changeset.Move]
  let updates: [Changeset.Update]

  /// The first error.
  var fault: Fault? {
    moveFault ?? updateFault(origins: moves.sorted { $0.from < $1.from })
  }

  private var moveFault: Fault? {
    var origins: Set<Int> = []
    for (position, move) in moves.enumerated() {
      if !origins.insert(move.from).inserted {
        return Fault(.moves, position, .from, "another move is from \(move.from) too")
      }
      if deletions.hasAscending(move.from) {
        return Fault(.moves, position, .from, "what was at \(move.from) is deleted, and moves too")
      }
      if insertions.hasAscending(move.to) {
        return Fault(.moves, position, .to, "what comes to \(move.to) is inserted, and moves too")
      }
    }
    return nil
  }

  /// - Parameter origins: The moves by ascending origin.
  private func updateFault(origins: [Changeset.Move]) -> Fault? {
    let destinations = moves.map(\.to)
    let removals = (deletions + origins.map(\.from)).sorted()
    let arrivals = (insertions + destinations).sorted()
    for (position, update) in updates.enumerated() {
      if deletions.hasAscending(update.from) {
        return Fault(
          .updates, position, .from, "what was at \(update.from) is deleted, and updated too")
      }
      if insertions.hasAscending(update.to) {
        return Fault(
          .updates, position, .at, "what comes to \(update.to) is inserted, and updated too")
      }
      let move = destinations.ascendingCount(below: update.to)
      let origin: Int
      if move < moves.count, moves[move].to == update.to {
        origin = moves[move].from
      } else {
        // The rank of an element among the elements that stay is the same on both sides.
        let rank = update.to - arrivals.ascendingCount(below: update.to)
        origin = removals.offset(ofUnlistedRank: rank)
      }
      if origin != update.from {
        return Fault(
          .updates, position, .from,
          "what comes to \(update.to) was at \(origin), and not at \(update.from)")
      }
    }
    return nil
  }
}
