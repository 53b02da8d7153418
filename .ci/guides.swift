// Writes the code of each guide, and of the README, as a program of a user.
//
//     swift .ci/guides.swift FOLDER
//
// Each page becomes a folder. `Declarations.swift` has the types, functions and extensions of the page. Its
// statements become the code at the top level of `main.swift`, and the body of a function in `Function.swift`, because
// the compiler accepts and warns of other things there. A block with `@main`, or with a manifest, becomes a folder of its
// own.
//
// If `.ci/guides/PAGE.swift` exists, it has what the page takes from elsewhere, such as a path. It is compiled with the
// page. The statements behind its line `// After the page:` follow those of the page: they use lists that the page only
// derives. A handle to an observation must be used by the page itself. These lines are options:
//
//     // Only in a function                  the statements are no code for `main.swift`
//     // Only at the top level               the statements are no code for a function
//     // On the main actor                   the function is on the main actor
//     // The text has: CODE                  the prose of the page has this code, which the next line compiles
//     // Without TEXT: REASON                a block that contains the text is left out
import Foundation

struct Program {
  var imports: Set<String> = []
  var declarations: [String] = []
  var statements: [String] = []

  /// Adds code. Lines that begin in the first column begin an item, unless they close one.
  mutating func add(_ code: [String]) {
    var items: [[String]] = []
    for line in code {
      let first = line.first ?? " "
      let continues = " })].".contains(first) || items.last?.isOpen == true
      if continues, !items.isEmpty {
        items[items.count - 1].append(line)
      } else {
        items.append([line])
      }
    }
    for item in items {
      if item[0].hasPrefix("import ") {
        imports.insert(item[0])
      } else if Program.isDeclaration(item) {
        declarations += item + [""]
      } else {
        statements += item.filter { !$0.isEmpty || !statements.isEmpty }
      }
    }
  }

  private static let keywords: Set<String> = [
    "struct", "class", "actor", "enum", "protocol", "extension", "func", "typealias", "final",
    "public", "private", "fileprivate", "nonisolated",
  ]

  private static func isDeclaration(_ item: [String]) -> Bool {
    let words = item.joined(separator: " ").split(separator: " ").filter { !$0.hasPrefix("@") }
    return words.first.map { keywords.contains(String($0)) } ?? false
  }

  /// Returns the files.
  ///
  /// - Parameter prelude: What the page takes from elsewhere.
  func files(_ prelude: Prelude) -> [String: String] {
    let head = imports.sorted() + [""]
    func text(_ lines: [String]) -> String { (head + lines).joined(separator: "\n") + "\n" }
    var files = ["Declarations.swift": text(declarations)]
    if !prelude.code.isEmpty {
      files["Prelude.swift"] = prelude.code.joined(separator: "\n") + "\n"
    }
    let body = statements + prelude.rest
    if body.isEmpty { return files }
    if !prelude.isOnlyFunction { files["main.swift"] = text(body) }
    if prelude.isOnlyTopLevel { return files }
    let actor = prelude.isOnMainActor ? "@MainActor " : ""
    files["Function.swift"] = text(
      ["\(actor)func program() async throws {"] + body.map { $0.isEmpty ? "" : "  " + $0 } + ["}"])
    return files
  }
}

/// The file that belongs to a page.
struct Prelude {
  var code: [String] = []
  /// The statements after those of the page.
  var rest: [String] = []
  var isOnlyFunction = false
  var isOnlyTopLevel = false
  var isOnMainActor = false
  /// The texts of blocks that are left out.
  var leftOut: [String] = []
  /// Code in the prose, and the line that compiles it.
  var prose: [(code: String, line: String)] = []

  init(_ page: String) {
    let path = ".ci/guides/\(page).swift"
    guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return }
    var isAfter = false
    for line in text.components(separatedBy: "\n") {
      if line == "// Only in a function" {
        isOnlyFunction = true
      } else if line == "// Only at the top level" {
        isOnlyTopLevel = true
      } else if line == "// On the main actor" {
        isOnMainActor = true
      } else if line.hasPrefix("// Without "), let colon = line.range(of: ": ") {
        leftOut.append(String(line[..<colon.lowerBound].dropFirst("// Without ".count)))
      } else if line == "// After the page:" {
        isAfter = true
      } else if line.drop(while: { $0 == " " }).hasPrefix("// The text has: ") {
        let code = line.drop { $0 == " " }.dropFirst("// The text has: ".count)
        prose.append((String(code), ""))
      } else if isAfter {
        rest.append(line)
        if prose.last?.line == "" { prose[prose.count - 1].line = line }
      } else {
        code.append(line)
      }
    }
    if code.allSatisfy({ $0.allSatisfy(\.isWhitespace) }) { code = [] }
  }
}

extension [String] {
  /// An item whose attributes stand on a line of their own, or whose comment stands before it.
  var isOpen: Bool { allSatisfy { $0.hasPrefix("@") && !$0.contains(" ") || $0.hasPrefix("//") } }
}

/// Returns the blocks of Swift of a page.
func blocks(of text: String) -> [[String]] {
  var blocks: [[String]] = []
  var block: [String]?
  for line in text.components(separatedBy: "\n") {
    if let open = block {
      if line == "```" { blocks.append(open) }
      block = line == "```" ? nil : open + [line]
    } else if line == "```swift" {
      block = []
    }
  }
  return blocks
}

func write(_ files: [String: String], to name: String) throws {
  let folder = URL(fileURLWithPath: CommandLine.arguments[1]).appendingPathComponent(name)
  try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  for (file, text) in files {
    try text.write(to: folder.appendingPathComponent(file), atomically: true, encoding: .utf8)
  }
}

let catalogue = "Sources/Swappable/Swappable.docc"
let pages =
  try FileManager.default.subpathsOfDirectory(atPath: catalogue)
  .filter { $0.hasSuffix(".md") }.map { "\(catalogue)/\($0)" } + ["README.md"]
for page in pages.sorted() {
  let name = page.split(separator: "/").last.map { String($0.dropLast(3)) } ?? page
  let prelude = Prelude(name)
  let source = try String(contentsOfFile: page, encoding: .utf8)
  for (code, line) in prelude.prose where !source.contains("`\(code)`") || !line.contains(code) {
    print("\(page) and .ci/guides/\(name).swift do not both have the code `\(code)`.")
    exit(1)
  }
  var program = Program()
  for block in blocks(of: source) {
    let text = block.joined(separator: "\n")
    if prelude.leftOut.contains(where: text.contains) { continue }
    if text.hasPrefix("// swift-tools-version") {
      try write(["Package.swift": text + "\n"], to: name + "-package")
    } else if block.contains("@main") {
      program.imports.formUnion(block.filter { $0.hasPrefix("import ") })
      try write(["Program.swift": text + "\n"], to: name + "-main")
    } else {
      program.add(block)
    }
  }
  if program.declarations.isEmpty, program.statements.isEmpty { continue }
  program.imports.insert("import Swappable")
  let text = (program.declarations + program.statements + prelude.code).joined()
  if text.contains("Todo"), !text.contains("struct Todo:") {
    program.add([
      "struct Todo: Codable, Hashable, Identifiable, Sendable, Differentiable {", "  let id: Int",
      "  var title: String", "}",
    ])
  }
  try write(program.files(prelude), to: name)
}
