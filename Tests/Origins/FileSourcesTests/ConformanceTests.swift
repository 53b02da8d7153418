import DataSourceTesting
import Diffing
import FileSources
import Foundation
import TestSupport
import TestTags
import Testing

@Suite(.timeLimit(.minutes(10))) struct ConformanceTests {
  struct Row: Codable, Differentiable, Hashable, Sendable {
    var id: Int
    var text: String
    var differenceIdentifier: Int { id }

    /// There are few identities, so most saves move, update, delete and insert elements.
    static func random(_ random: inout SeededGenerator) -> [Row] {
      (0..<8).shuffled(using: &random).prefix(random.below(8)).map {
        Row(id: $0, text: "\(random.below(3))")
      }
    }
  }

  @Test(.reaches(.changes)) func `a JSON file keeps the event contract`() async throws {
    let directory = try TemporaryDirectory()
    try directory.write("[{\"id\": 1, \"text\": \"a\"}]", to: "rows.json")
    let path = directory("rows.json")
    try await checkDataSource(
      makeSource: { JSONFileDataSource<Row>(path: path) },
      mutate: { _, random in
        let data = try JSONEncoder().encode(Row.random(&random))
        let text = String(decoding: data, as: UTF8.self)
        switch random.below(3) {
        case 0: try directory.write(text, to: "rows.json")
        case 1:
          let middle = text.index(text.startIndex, offsetBy: text.count / 2)
          try directory.write(String(text[..<middle]), String(text[middle...]), to: "rows.json")
        default:
          try directory.write(text, to: "new.json")
          try directory.move("new.json", to: "rows.json")
        }
      },
      expected: { _ in
        try JSONDecoder().decode([Row].self, from: Data(contentsOf: URL(fileURLWithPath: path)))
      },
      damage: { _ in try directory.move("rows.json", to: "away.json") },
      repair: { _ in try directory.move("away.json", to: "rows.json") })
  }

  @Test(.reaches(.changes), arguments: [nil, "oops\n", "{\"id\":1}\n"])
  func `JSON Lines keep the event contract`(malformedLine: String?) async throws {
    @Sendable func lines(_ rows: [Row], _ random: inout SeededGenerator) throws -> String {
      var lines = try rows.map {
        String(decoding: try JSONEncoder().encode($0), as: UTF8.self) + "\n"
      }
      if let malformedLine {
        lines.insert(malformedLine, at: random.below(lines.count + 1))
      }
      return lines.joined()
    }
    let directory = try TemporaryDirectory()
    try directory.write("{\"id\": 1, \"text\": \"a\"}\n", to: "rows.jsonl")
    let path = directory("rows.jsonl")
    try await checkDataSource(
      makeSource: { JSONLinesDataSource<Row>(path: path) },
      mutate: { _, random in
        let text = try lines(Row.random(&random), &random)
        switch random.below(4) {
        case 0: try directory.write(text, to: "rows.jsonl")
        case 1:
          let middle = text.index(text.startIndex, offsetBy: text.count / 2)
          let file = try OpenFile(path, O_WRONLY | O_APPEND)
          for part in [text[..<middle], text[middle...]] { try file.write(String(part)) }
        case 2:
          try directory.move("rows.jsonl", to: "rows.jsonl.1")
          try directory.write(text, to: "rows.jsonl")
        default:
          try directory.write(text, to: "new.jsonl")
          try directory.move("new.jsonl", to: "rows.jsonl")
        }
      },
      expected: { _ in
        try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
          .compactMap { try? JSONDecoder().decode(Row.self, from: Data($0.utf8)) }
      },
      damage: { _ in try directory.move("rows.jsonl", to: "away.jsonl") },
      repair: { _ in try directory.move("away.jsonl", to: "rows.jsonl") })
  }

  @Test(.reaches(.changes)) func `CSV keeps the event contract`() async throws {
    @Sendable func text(_ random: inout SeededGenerator) -> String {
      "id,text\n"
        + Row.random(&random).map {
          "\($0.id),\"\($0.text.replacing("\"", with: "\"\""))\"\n"
        }.joined()
    }
    let directory = try TemporaryDirectory()
    try directory.write("id,text\n1,a\n", to: "rows.csv")
    let path = directory("rows.csv")
    try await checkDataSource(
      makeSource: { CSVFileDataSource<Row>(path: path) },
      mutate: { _, random in
        let text = text(&random)
        if random.oneIn(3) {
          let rows = text.dropFirst("id,text\n".count)
          try OpenFile(path, O_WRONLY | O_APPEND).write(String(rows))
        } else if random.oneIn(2) {
          try directory.write(text, to: "rows.csv")
        } else {
          try directory.write(text, to: "new.csv")
          try directory.move("new.csv", to: "rows.csv")
        }
      },
      expected: { _ in
        var stream = CSVStream(delimiter: ",", key: nil, hasNumbers: true, isStrict: true)
        var bytes = Array(try Data(contentsOf: URL(fileURLWithPath: path)))
        return try stream.takeElements(from: &bytes, isAtEnd: true).map {
          Row(id: $0["id"]?.integer ?? -1, text: $0["text"]?.string ?? "")
        }
      },
      damage: { _ in try directory.move("rows.csv", to: "away.csv") },
      repair: { _ in try directory.move("away.csv", to: "rows.csv") })
  }
}
