import DataSourceTesting
import Diffing
import Foundation
import TestTags
import Testing

/// An element that is written as JSON.
private struct Row: Codable, Hashable, Differentiable {
  var id: Int
  var content = 0
  var differenceIdentifier: Int { id }
}

private func json(_ value: some Encodable) throws -> String {
  let encoder = JSONEncoder()
  encoder.outputFormatting = .sortedKeys
  return String(decoding: try encoder.encode(value), as: UTF8.self)
}

private func decode<Value: Decodable>(_ type: Value.Type, _ text: String) throws -> Value {
  try JSONDecoder().decode(type, from: Data(text.utf8))
}

/// A line without its event's name and revisions.
private func line(
  deletes: String = "", inserts: String = "", updates: String = "", moves: String = ""
) -> String {
  "{\"deletes\":[\(deletes)],\"inserts\":[\(inserts)],\"moves\":[\(moves)],\"updates\":[\(updates)]}"
}

@Suite("A change's record")
struct ChangeRecordTests {
  private let old = ["a", "b", "c", "d"]
  private let new = ["d", "a", "x", "c"]

  @Test func `a record is encoded as livelist writes it`() throws {
    let record = ChangeRecord(Changeset(from: old, to: new), from: old, to: new)
    #expect(
      try json(record)
        == line(
          deletes: #"{"at":1,"element":"b"}"#, inserts: #"{"at":2,"element":"x"}"#,
          moves: #"{"from":3,"to":0}"#))
    let rows = ([Row(id: 1), Row(id: 2)], [Row(id: 1, content: 5), Row(id: 2)])
    #expect(
      try json(ChangeRecord(Changeset(from: rows.0, to: rows.1), from: rows.0, to: rows.1))
        == line(
          updates: #"{"at":0,"element":{"content":5,"id":1},"from":0,"old":{"content":0,"id":1}}"#))
  }

  @Test func `a line of livelist is decoded and applied`() throws {
    let text =
      #"{"event":"change","since":3,"revision":4,"deletes":[{"at":1,"element":"b"}],"#
      + #""inserts":[{"at":2,"element":"x"}],"updates":[{"from":2,"at":3,"old":"c","element":"C"}],"#
      + #""moves":[{"from":3,"to":0}]}"#
    let record = try decode(ChangeRecord<String>.self, text)
    #expect(record.changeset.moves == [.init(from: 3, to: 0)])
    #expect(record.moved == [nil])
    #expect(try record.applying(to: old) == ["d", "a", "x", "C"])
    let patch = try Patch(record, from: old)
    #expect(patch.applying(to: old) == ["d", "a", "x", "C"])
    #expect(patch.steps.contains(.move("d", from: 2, to: 0)))
  }

  @Test func `a record throws an error if the version is too short`() throws {
    let record = ChangeRecord(Changeset(from: old, to: new), from: old, to: new)
    let error = #expect(throws: Changeset.RangeError.self) { try record.applying(to: ["a", "b"]) }
    #expect(error?.description.contains("offset 3 before the change is out of range 0..<2") == true)
    #expect(throws: Changeset.RangeError.self) { try Patch(record, from: ["a", "b"]) }
    let insertion = try decode(
      ChangeRecord<String>.self, line(inserts: #"{"at":7,"element":"x"}"#))
    let other = #expect(throws: Changeset.RangeError.self) { try insertion.applying(to: old) }
    #expect(other?.description.contains("offset 7 after the change is out of range 0..<5") == true)
  }

  @Test(arguments: [
    (#"{"event":"status","state":"loaded"}"#, "", "deletes"),
    (line(deletes: #"{"at":-1,"element":"a"}"#), "deletes.Index 0.at", "-1 is out of range"),
    (
      line(deletes: #"{"at":9000000000000000000,"element":"a"}"#), "deletes.Index 0.at",
      "offset 9000000000000000000 is out of range"
    ),
    (
      line(inserts: #"{"at":3,"element":"a"},{"at":3,"element":"b"}"#), "inserts.Index 1.at",
      "3 occurs twice"
    ),
    (
      line(deletes: #"{"at":3,"element":"a"},{"at":1,"element":"b"}"#), "deletes.Index 1.at",
      "1 follows 3"
    ),
    (
      line(moves: #"{"from":4,"to":0},{"from":4,"to":1}"#), "moves.Index 1.from",
      "another move is also from 4"
    ),
    (line(moves: #"{"from":4,"to":1},{"from":5,"to":0}"#), "moves.Index 1.to", "0 follows 1"),
    (
      line(deletes: #"{"at":4,"element":"a"}"#, moves: #"{"from":4,"to":1}"#),
      "moves.Index 0.from", "at 4 is deleted"
    ),
    (
      line(inserts: #"{"at":1,"element":"a"}"#, moves: #"{"from":4,"to":1}"#),
      "moves.Index 0.to", "at 1 is inserted"
    ),
    (
      line(
        deletes: #"{"at":4,"element":"a"}"#,
        updates: #"{"from":4,"at":4,"old":"a","element":"b"}"#), "updates.Index 0.from",
      "at 4 is deleted"
    ),
    (
      line(
        inserts: #"{"at":4,"element":"a"}"#,
        updates: #"{"from":4,"at":4,"old":"a","element":"b"}"#), "updates.Index 0.at",
      "at 4 is inserted"
    ),
    (
      line(
        deletes: #"{"at":0,"element":"a"}"#,
        updates: #"{"from":4,"at":4,"old":"a","element":"b"}"#), "updates.Index 0.from",
      "was at 5"
    ),
    (
      line(
        updates: #"{"from":0,"at":0,"old":"a","element":"b"}"#, moves: #"{"from":4,"to":0}"#),
      "updates.Index 0.from", "was at 4"
    ),
  ]) func `a malformed record is rejected with the path and the reason`(
    text: String, path: String, hint: String
  ) throws {
    let error = #expect(throws: DecodingError.self) {
      try decode(ChangeRecord<String>.self, text)
    }
    switch error {
    case .dataCorrupted(let context):
      #expect(context.codingPath.map(\.stringValue).joined(separator: ".") == path)
      #expect(context.debugDescription.contains(hint), "\(context.debugDescription)")
    case .keyNotFound(let key, _): #expect(key.stringValue == hint)
    default: Issue.record("another error: \(String(describing: error))")
    }
  }

  @Test(.reaches(.changes, "rejection"), arguments: 0..<500)
  func `a random record is either applied or rejected, without a trap`(
    seed: UInt64
  ) throws {
    var generator = SeededGenerator(seed: seed)
    func ascending() -> [Int] {
      (0..<5).filter { _ in Int.random(in: 0..<5, using: &generator) == 0 }
    }
    for _ in 0..<20 {
      let (deletes, inserts) = (ascending(), ascending())
      let moves = ascending().map { (Int.random(in: 0..<5, using: &generator), $0) }
      let updates = ascending().map { (Int.random(in: 0..<5, using: &generator), $0) }
      let text = line(
        deletes: deletes.map { #"{"at":\#($0),"element":-1}"# }.joined(separator: ","),
        inserts: inserts.map { #"{"at":\#($0),"element":\#(100 + $0)}"# }.joined(separator: ","),
        updates: updates.map { #"{"from":\#($0),"at":\#($1),"old":-1,"element":\#(200 + $1)}"# }
          .joined(separator: ","),
        moves: moves.map { #"{"from":\#($0),"to":\#($1)}"# }.joined(separator: ","))
      guard let record = try? decode(ChangeRecord<Int>.self, text) else { continue }
      for count in 0..<6 {
        let old = Array(0..<count)
        guard let new = try? record.applying(to: old) else {
          Coverage.note("rejection")
          continue
        }
        Coverage.note(record.changeset)
        #expect(new.count == count - deletes.count + inserts.count, "\(text)")
        #expect(inserts.allSatisfy { new[$0] == 100 + $0 }, "\(text)")
        #expect(updates.allSatisfy { new[$1] == 200 + $1 }, "\(text)")
        let updated = Set(updates.map(\.1))
        #expect(moves.allSatisfy { updated.contains($1) || new[$1] == $0 }, "\(text)")
        let rest = new.indices.filter { offset in
          !inserts.contains(offset) && !updated.contains(offset)
            && !moves.contains { $0.1 == offset }
        }.map { new[$0] }
        #expect(rest == rest.sorted() && rest.allSatisfy { !deletes.contains($0) }, "\(text)")
        #expect(try Patch(record, from: old).applying(to: old) == new, "\(text)")
      }
    }
  }

  @Test func `null can be an element`() throws {
    let patch = Patch<String?>(steps: [
      .move(nil, from: 0, to: 1), .insert(nil, at: 2), .update(old: nil, new: "x", at: 5),
    ])
    #expect(try decode(Patch<String?>.self, json(patch)) == patch)
  }
}

@Suite("A patch as JSON")
struct PatchCodingTests {
  @Test func `a patch encodes the elements of moves that are not updated`() throws {
    let old = [Row(id: 1), Row(id: 2), Row(id: 3)]
    let new = [Row(id: 3), Row(id: 1), Row(id: 2)]
    let patch = Patch(Changeset(from: old, to: new), from: old, to: new)
    #expect(
      try json(patch) == line(moves: #"{"element":{"content":0,"id":3},"from":2,"to":0}"#))
    var changed = new
    changed[0].content = 1
    let other = Patch(Changeset(from: old, to: changed), from: old, to: changed)
    #expect(
      try json(other)
        == line(
          updates: #"{"at":0,"element":{"content":1,"id":3},"from":2,"old":{"content":0,"id":3}}"#,
          moves: #"{"from":2,"to":0}"#))
    #expect(try decode(Patch<Row>.self, json(other)) == other)
    let error = #expect(throws: DecodingError.self) {
      try decode(Patch<Row>.self, line(moves: #"{"from":2,"to":0}"#))
    }
    #expect("\(String(describing: error))".contains("Patch(record, from: old)"))
  }

  @Test func `a patch with an invalid offset is not encoded`() throws {
    for step in [
      Patch<Int>.Step.insert(1, at: -1), .move(1, from: 0, to: -2), .remove(1, at: .max),
      .update(old: 0, new: 1, at: -7),
    ] {
      let patch = Patch(steps: [.insert(0, at: 0), step])
      let error = #expect(throws: EncodingError.self) { try json(patch) }
      #expect("\(String(describing: error))".contains("in step 1 of the patch"))
    }
  }

  @Test(.reaches(.changes), arguments: 0..<200)
  func `a patch is encoded like its record, and decoded as the same patch`(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let old = (0..<Int.random(in: 0..<40, using: &generator)).map { Row(id: $0) }
    var new = old.filter { _ in Int.random(in: 0..<5, using: &generator) > 0 }
    for step in 0..<Int.random(in: 0..<12, using: &generator) where !new.isEmpty {
      var element = new.remove(at: .random(in: 0..<new.count, using: &generator))
      element.content = .random(in: 0...1, using: &generator)
      new.insert(element, at: .random(in: 0...new.count, using: &generator))
      new.insert(Row(id: 100 + step), at: .random(in: 0...new.count, using: &generator))
    }
    let change = Changeset(from: old, to: new)
    let patch = Patch(change, from: old, to: new)
    let record = ChangeRecord(change, from: old, to: new)
    Coverage.note(change)
    #expect(ChangeRecord(patch).changeset == change, "seed \(seed)")
    #expect(try decode(Patch<Row>.self, json(patch)) == patch, "seed \(seed)")
    #expect(try decode(ChangeRecord<Row>.self, json(record)) == record, "seed \(seed)")
    #expect(try record.applying(to: old) == new, "seed \(seed)")
    #expect(try Patch(record, from: old) == patch, "seed \(seed)")
  }

  @Test(.reaches(.changes), arguments: 0..<400)
  func `a patch with steps in any order is encoded with the same effect`(
    seed: UInt64
  ) throws {
    var generator = SeededGenerator(seed: seed)
    let old = (0..<Int.random(in: 0..<8, using: &generator)).map { Row(id: $0) }
    var current = old
    var steps: [Patch<Row>.Step] = []
    for number in 0..<Int.random(in: 0..<20, using: &generator) {
      let place = Int.random(in: 0...current.count, using: &generator)
      if place == current.count || Int.random(in: 0..<4, using: &generator) == 0 {
        steps.append(.insert(Row(id: 100 + number), at: place))
      } else if Int.random(in: 0..<3, using: &generator) == 0 {
        steps.append(.remove(current[place], at: place))
      } else if Bool.random(using: &generator) {
        var element = current[place]
        element.content += 1
        steps.append(.update(old: current[place], new: element, at: place))
      } else {
        let destination = Int.random(in: 0..<current.count, using: &generator)
        steps.append(.move(current[place], from: place, to: destination))
      }
      current = Patch(steps: [steps[steps.count - 1]]).applying(to: current)
    }
    let patch = Patch(steps: steps)
    let record = ChangeRecord(patch)
    #expect(try record.applying(to: old) == current, "seed \(seed): \(steps)")
    // Identities are unique, so the kept elements are known, and the record must agree.
    let expected = Changeset(from: old, to: current)
    Coverage.note(expected)
    #expect(record.changeset.deletions == expected.deletions, "seed \(seed)")
    #expect(record.changeset.insertions == expected.insertions, "seed \(seed)")
    #expect(record.changeset.updates == expected.updates, "seed \(seed)")
    #expect(record.deleted == expected.deletions.map { old[$0] }, "seed \(seed)")
    // Offsets alone say the same, but for the choice of moves.
    let composed = Changeset(patch)
    #expect(record.changeset.deletions == composed.deletions, "seed \(seed)")
    #expect(record.changeset.insertions == composed.insertions, "seed \(seed)")
    #expect(record.changeset.updates == composed.updates, "seed \(seed)")
    #expect(record.changeset.moves.count >= composed.moves.count, "seed \(seed)")
    #expect(record.replaced == expected.updates.map { old[$0.from] }, "seed \(seed)")
    #expect(record.moved == record.changeset.moves.map { old[$0.from] }, "seed \(seed)")
    let read = try decode(Patch<Row>.self, json(patch))
    #expect(read.applying(to: old) == current, "seed \(seed)")
    #expect(read.steps.count <= steps.count, "seed \(seed)")
  }

  @Test func `steps that cancel out do not occur in the record`() {
    func changeset(_ steps: Patch<String>.Step...) -> Changeset {
      ChangeRecord(Patch(steps: steps)).changeset
    }
    #expect(changeset(.move("a", from: 0, to: 2), .move("a", from: 2, to: 0)).isEmpty)
    #expect(changeset(.move("a", from: 3, to: 3)).isEmpty)
    #expect(changeset(.insert("a", at: 7), .move("a", from: 7, to: 1), .remove("a", at: 1)).isEmpty)
    // Both have moved, and one of them is where it was among the rest.
    #expect(
      changeset(
        .move("a", from: 0, to: 5), .move("b", from: 0, to: 5), .move("a", from: 4, to: 0)
      ) == Changeset(moves: [.init(from: 1, to: 5)]))
    // All have moved, and it could have been done by one.
    #expect(
      changeset(
        .move("a", from: 0, to: 2), .move("b", from: 0, to: 2), .move("c", from: 0, to: 2),
        .move("c", from: 2, to: 0)
      ) == Changeset(moves: [.init(from: 2, to: 0)]))
    #expect(
      changeset(.remove("a", at: 0), .insert("a", at: 0))
        == Changeset(deletions: [0], insertions: [0]))
  }

  @Test func `a patch with very many steps at any offsets becomes a record`() throws {
    var generator = SeededGenerator(seed: 7)
    let count = 20_000
    let steps = (0..<count).map { step -> Patch<Int>.Step in
      let offset = Int.random(in: 0..<1 << 40, using: &generator)
      return step % 3 == 0 ? .insert(step, at: offset) : .remove(-1, at: offset)
    }
    let record = ChangeRecord(Patch(steps: steps))
    #expect(record.changeset.countChange == (count + 2) / 3 - count * 2 / 3)
    // Steps at one end only, forwards and backwards: a tree must not become a list.
    for offsets in [Array(0..<count), Array((0..<count).reversed())] {
      let removals = ChangeRecord(Patch(steps: offsets.map { .remove($0, at: $0) }))
      #expect(removals.changeset.deletions.count == count)
    }
  }
}
