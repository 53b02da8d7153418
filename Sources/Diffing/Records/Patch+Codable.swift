extension Patch: Encodable where Element: Encodable {
  /// Writes what the steps come to, as `livelist` writes a change.
  ///
  /// The offsets are simultaneous, whatever the order of the steps: see
  /// ``ChangeRecord/init(_:)``. Moves tell their elements, unless an update does.
  ///
  /// - Throws: An `EncodingError` where a step has an offset that is none, and what the encoder or an
  ///   element throws.
  /// - Complexity: O(*k* log *k*) for *k* steps.
  public func encode(to encoder: any Encoder) throws {
    for (position, step) in steps.enumerated() {
      guard let offset = step.faultyOffset else { continue }
      throw EncodingError.invalidValue(
        offset,
        EncodingError.Context(
          codingPath: encoder.codingPath,
          debugDescription: "\(offset), in step \(position) of the patch, is no offset"))
    }
    try ChangeRecord(self).encode(to: encoder)
  }
}

extension Patch: Decodable where Element: Decodable {
  /// Reads a change as `livelist` writes it, as steps.
  ///
  /// Only a move without an update does not tell its element there. To make a patch of such a line, read
  /// a ``ChangeRecord``, and make a patch of that and of the version that it changes.
  ///
  /// - Throws: A `DecodingError` as that of a record, and one for a move whose element is not told.
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
            debugDescription: "the move from \(move.from) to \(move.to) does not tell its element, "
              + "which a patch has; decode a ChangeRecord, and make a patch of it by "
              + "Patch(record, from: old)"))
      }
    }
    self.init(record) { moved[$0] }
  }
}
