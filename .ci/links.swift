// Checks the links of all Markdown files, and translates the links of the documentation catalog for docc.
//
//     swift .ci/links.swift            checks only
//     swift .ci/links.swift FOLDER     also writes the catalog with links of docc
//
// Pages link to each other by relative paths, because these work in a Git host and in an editor: `[title](Page.md)`, or
// `[text](Page.md#heading)`. A link is wrong if its file or its heading does not exist, and so is `<doc:Page>`, which only
// docc understands. Symbol links such as ``Property`` are allowed in the catalog: elsewhere, they are shown as code.
//
// The copy for docc differs in these links:
//
//     a page of the catalog      `<doc:Page>`, or `[text](doc:Page)` if the text is not the title of the page
//     the page of a module       the symbol link of the module
//     an image                   its name
//     another file, or a folder  the text, and the path in the repository: docc has no page for it
import Foundation

struct Page {
  /// The path in the repository.
  let path: String
  /// Parts of the text, in turn prose and blocks of code.
  private(set) var parts: [(isCode: Bool, text: String)] = []
  private(set) var title = ""
  /// The headings, by their anchors in a Git host.
  private(set) var headings: [String: String] = [:]

  init(path: String) throws {
    self.path = path
    var lines: [String] = []
    var isCode = false
    func part() -> (isCode: Bool, text: String) { (isCode, lines.joined(separator: "\n")) }
    for line in try String(contentsOfFile: path, encoding: .utf8).components(separatedBy: "\n") {
      let isFence = line.drop { $0 == " " }.hasPrefix("```")
      if isFence, !isCode {
        parts.append(part())
        (lines, isCode) = ([line], true)
      } else if isFence {
        lines.append(line)
        parts.append(part())
        (lines, isCode) = ([], false)
      } else {
        lines.append(line)
        if !isCode, let heading = line.wholeMatch(of: #/(#+) +(.+)/#) {
          add(heading: String(heading.2), isTitle: heading.1 == "#")
        }
      }
    }
    parts.append(part())
  }

  private mutating func add(heading: String, isTitle: Bool) {
    if isTitle, title.isEmpty { title = heading }
    let kept = heading.lowercased().filter { $0.isLetter || $0.isNumber || " -_".contains($0) }
    let first = kept.replacing(" ", with: "-")
    var anchor = first
    var repetitions = 0
    while headings[anchor] != nil {
      repetitions += 1
      anchor = "\(first)-\(repetitions)"
    }
    headings[anchor] = heading
  }

  /// Returns the text with other links.
  func text(_ translate: (Link) -> String) -> String {
    let pattern = #/`[^`]*`|(!?)\[((?:[^\[\]`]|`[^`]*`)*)\]\(([^()\s]*)\)/#
    let translated = parts.map { part in
      part.isCode
        ? part.text
        : part.text.replacing(pattern) { match in
          guard let target = match.3 else { return String(match.0) }
          return translate(
            Link(
              text: String(match.2 ?? ""), target: String(target), isImage: match.1 == "!",
              original: String(match.0)))
        }
    }
    return translated.joined(separator: "\n")
  }
}

struct Link {
  let text: String
  let target: String
  let isImage: Bool
  let original: String
}

let catalog = "Sources/Swappable/Swappable.docc"
var failures: [String] = []

/// Returns the path in the repository of a link's file.
func resolve(_ target: Substring, from page: String) -> String? {
  var path = page.split(separator: "/").dropLast()
  for name in target.split(separator: "/", omittingEmptySubsequences: false) {
    if name == ".." {
      if path.popLast() == nil { return nil }
    } else if name != ".", !name.isEmpty {
      path.append(name)
    }
  }
  return target.hasPrefix("/") ? nil : path.joined(separator: "/")
}

let root = URL(fileURLWithPath: ".").resolvingSymlinksInPath().path
var pages: [String: Page] = [:]
let files = FileManager.default.enumerator(
  at: URL(fileURLWithPath: root), includingPropertiesForKeys: nil, options: [.skipsHiddenFiles])
while let file = files?.nextObject() as? URL {
  guard file.pathExtension == "md" else { continue }
  let path = String(file.resolvingSymlinksInPath().path.dropFirst(root.count + 1))
  // An earlier copy for docc may be in the repository.
  if path.contains(".docc/"), !path.hasPrefix(catalog + "/") { continue }
  pages[path] = try Page(path: path)
}

/// Checks a link, and returns it as docc understands it.
func translate(_ link: Link, on page: Page) -> String {
  if link.target.contains("://") || link.target.hasPrefix("mailto:") { return link.original }
  func fail(_ reason: String) -> String {
    failures.append("\(page.path): \(link.original) \(reason)")
    return link.original
  }
  let parts = link.target.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
  let path = parts[0].isEmpty ? page.path : resolve(parts[0], from: page.path)
  guard let path else { return fail("leads out of the repository") }
  guard FileManager.default.fileExists(atPath: path) else { return fail("leads to no file") }
  var heading = ""
  if parts.count == 2 {
    guard let found = pages[path]?.headings[String(parts[1])] else {
      return fail("leads to no heading")
    }
    heading = "#" + found.filter { $0 != "`" }.replacing(" ", with: "-")
  }
  let name = String(path.split(separator: "/").last?.prefix { $0 != "." } ?? "")
  if link.isImage { return "![\(link.text)](\(path.split(separator: "/").last ?? ""))" }
  if path.hasPrefix(catalog + "/Modules/"), heading.isEmpty { return "``\(name)``" }
  if path.hasPrefix(catalog + "/"), let target = pages[path] {
    return heading.isEmpty && target.title == link.text.replacing("\n", with: " ")
      ? "<doc:\(name)>" : "[\(link.text)](doc:\(name)\(heading))"
  }
  return link.text == "`\(path)`" ? link.text : "\(link.text) (`\(path)`)"
}

let output = CommandLine.arguments.dropFirst().first
if let output {
  try? FileManager.default.removeItem(atPath: output)
  try FileManager.default.copyItem(atPath: catalog, toPath: output)
}
for page in pages.values.sorted(by: { $0.path < $1.path }) {
  let prose = page.parts.filter { !$0.isCode }.map(\.text).joined(separator: "\n")
  if prose.replacing(#/`[^`]*`/#, with: "").contains("<doc:") {
    failures.append("\(page.path): has a link in the form <doc:…>, which only docc understands")
  }
  let text = page.text { translate($0, on: page) }
  if let output, page.path.hasPrefix(catalog + "/") {
    let file = output + page.path.dropFirst(catalog.count)
    try text.write(toFile: file, atomically: true, encoding: .utf8)
  }
}
for failure in failures { print(failure) }
print("\(pages.count) pages, \(failures.count) wrong links")
// A folder without pages is a mistake of the caller.
exit(failures.isEmpty && pages.count > 40 ? 0 : 1)
