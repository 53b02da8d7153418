// Checks that every public symbol has a summary, a doc comment whose first line is a sentence, and that
// the page of its module lists it.
//
//     swift .ci/summaries.swift FOLDER-OF-SYMBOL-GRAPHS FOLDER-OF-MODULE-PAGES
//
// A requirement of a protocol provides the documentation of its implementations, and synthesized symbols have none.
// Both are exempt. Symbols that a module exports from another one are checked in that module. The script lists the
// symbols at fault, and ends with status 1 if there are any.
import Foundation

struct Graph: Decodable {
  struct Line: Decodable { var text: String }
  struct DocComment: Decodable { var lines: [Line] }
  struct Identifier: Decodable { var precise: String }
  struct Position: Decodable { var line: Int }
  struct Location: Decodable { var uri: String; var position: Position }
  struct Symbol: Decodable {
    var identifier: Identifier
    var pathComponents: [String]
    var docComment: DocComment?
    var location: Location?
  }
  struct Origin: Decodable { var identifier: String }
  struct Relationship: Decodable { var source: String; var sourceOrigin: Origin? }

  var symbols: [Symbol]
  var relationships: [Relationship]
}

guard CommandLine.arguments.count == 3 else {
  FileHandle.standardError.write(Data("usage: swift .ci/summaries.swift GRAPHS PAGES\n".utf8))
  exit(2)
}
let folder = URL(fileURLWithPath: CommandLine.arguments[1])
let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
  .filter { $0.hasSuffix(".symbols.json") }.sorted()
var missing: [String] = []
var checked = 0
for file in files {
  let graph = try JSONDecoder().decode(
    Graph.self, from: Data(contentsOf: folder.appendingPathComponent(file)))
  // The name of the module that contains the code. The graph has the name of the extended module.
  let module = String(file.prefix { $0 != "." && $0 != "@" })
  // The module stands on a floor, except `Swappable`.
  func isInModule(_ uri: String) -> Bool {
    uri.range(of: "/Sources/([A-Za-z]+/)?\(module)/", options: .regularExpression) != nil
  }
  // There is no graph if nothing is public.
  let page =
    (try? String(
      contentsOf: URL(fileURLWithPath: CommandLine.arguments[2])
        .appendingPathComponent("\(module).md"), encoding: .utf8)) ?? ""
  let fulfilling = Set(graph.relationships.filter { $0.sourceOrigin != nil }.map(\.source))
  for symbol in graph.symbols {
    let identifier = symbol.identifier.precise
    guard !identifier.contains("::SYNTHESIZED::"),
      symbol.location.map({ isInModule($0.uri) }) ?? true
    else { continue }
    checked += 1
    let name = module + "." + symbol.pathComponents.joined(separator: ".")
    let place =
      symbol.location.map { "\($0.uri.dropFirst("file://".count)):\($0.position.line + 1): " } ?? ""
    // A hash may follow if several symbols have this name.
    let entry = "- ``\(symbol.pathComponents[0])"
    if symbol.pathComponents.count == 1, !page.contains("\(entry)``"), !page.contains("\(entry)-") {
      missing.append("\(place)\(name): not on the page of its module")
    }
    if let comment = symbol.docComment {
      let summary = comment.lines.first?.text.trimmingCharacters(in: .whitespaces) ?? ""
      if !summary.hasSuffix(".") {
        missing.append("\(place)\(name): the first line does not end with a full stop: \(summary)")
      }
    } else if !fulfilling.contains(identifier) {
      missing.append("\(place)\(name): no doc comment")
    }
  }
}
for line in missing { print(line) }
print("\(checked) public symbols, \(missing.count) at fault")
// A folder without symbols is a mistake of the caller.
exit(missing.isEmpty && checked > 0 ? 0 : 1)
