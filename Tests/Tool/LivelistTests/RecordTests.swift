import Diffing
import Foundation
import TestTags
import Testing

private struct Row: Codable, Hashable, Differentiable {
  var id: Int
  var n: String?
  var differenceIdentifier: Int { id }
}

/// Tests of change records that Swift programs read from the tool and write for it.
@Suite(.tags(.system)) struct RecordTests {
  private let old = [Row(id: 1, n: "x"), Row(id: 2), Row(id: 3), Row(id: 4)]
  private let new = [Row(id: 4), Row(id: 9, n: "é"), Row(id: 1, n: "y"), Row(id: 3)]

  private func json(_ value: some Encodable) throws -> String {
    String(decoding: try JSONEncoder().encode(value), as: UTF8.self)
  }

  @Test func `a Swift program reads and applies a line of the tool`() throws {
    let place = try Workplace()
    let line = try Livelist.run(
      "diff", "--key", "id", try place.json("old.json", json(old)),
      try place.json("new.json", json(new))
    ).output
    let record = try JSONDecoder().decode(ChangeRecord<Row>.self, from: Data(line.utf8))
    #expect(try record.applying(to: old) == new)
    #expect(record == ChangeRecord(Changeset(from: old, to: new), from: old, to: new))
    #expect(try Patch(record, from: old).applying(to: old) == new)
  }

  @Test func `the tool applies a patch of a Swift program`() throws {
    let place = try Workplace()
    let source = try place.json("old.json", json(old))
    let patch = Patch(Changeset(from: old, to: new), from: old, to: new)
    // The move has an additional member that the tool does not write.
    #expect(try json(patch).contains(#""element":{"id":4}"#))
    let line = try #"{"event":"change","since":0,"revision":1,"# + json(patch).dropFirst()
    let result = try Livelist.run("apply", source, input: line)
    #expect(result.errors.isEmpty)
    #expect(try JSONDecoder().decode([Row].self, from: Data(result.output.utf8)) == new)
    let read = try JSONDecoder().decode(Patch<Row>.self, from: Data(line.utf8))
    #expect(read == patch)
  }
}
