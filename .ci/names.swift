// Prints the top-level public names of some modules, sorted, as `Module.name`. Functions that share a
// name are one name.
//
//     swift .ci/names.swift FOLDER-OF-SYMBOL-GRAPHS
import Foundation

struct Graph: Decodable {
  struct Module: Decodable { var name: String }
  struct Symbol: Decodable { var pathComponents: [String] }

  var module: Module
  var symbols: [Symbol]
}

guard CommandLine.arguments.count == 2 else {
  FileHandle.standardError.write(Data("usage: swift .ci/names.swift GRAPHS\n".utf8))
  exit(2)
}
let folder = URL(fileURLWithPath: CommandLine.arguments[1])
var names: Set<String> = []
for file in try FileManager.default.contentsOfDirectory(atPath: folder.path)
where file.hasSuffix(".symbols.json") {
  let graph = try JSONDecoder().decode(
    Graph.self, from: Data(contentsOf: folder.appendingPathComponent(file)))
  for symbol in graph.symbols where symbol.pathComponents.count == 1 {
    names.insert(graph.module.name + "." + symbol.pathComponents[0].prefix { $0 != "(" })
  }
}
// In the order of bytes, as `comm` expects.
for name in names.sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) { print(name) }
