import Foundation
import Swappable

/// An element of the measured file.
struct Record: Codable, Sendable, Hashable, Identifiable, Differentiable {
  var id: Int
  var name: String
  var email: String
  var city: String
  var score: Double
  var isActive: Bool
  var tags: [String]
  var note: String?
}

/// The text of an array of records, which can be changed one by one.
struct RecordFile {
  private var lines: [String]

  init(count: Int) {
    lines = (0..<count).map { Self.line($0, version: 0) }
  }

  var text: Data { Data(("[\n" + lines.joined(separator: ",\n") + "\n]\n").utf8) }

  /// Replaces records with records of another length.
  mutating func change(_ ids: some Sequence<Int>, version: Int) {
    for id in ids { lines[id] = Self.line(id, version: version) }
  }

  private static func line(_ id: Int, version: Int) -> String {
    let edit = version == 0 ? "" : ", edited \(version) times"
    return
      "  {\"id\":\(id),\"name\":\"Person number \(id)\",\"email\":\"person.\(id)@example.org\","
      + "\"city\":\"Some town in the hills\",\"score\":\(Double(id) * 1.25),"
      + "\"isActive\":\(id % 3 == 0),\"tags\":[\"alpha\",\"beta \(id % 17)\",\"gamma\"],"
      + "\"note\":\"An ordinary line of text\(edit)\"}"
  }
}
