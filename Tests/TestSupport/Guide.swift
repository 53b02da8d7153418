package import Foundation

/// A guide of the documentation, whose code must be code that is compiled and run.
package struct Guide {
  /// All of it.
  package let lines: [String]
  /// The code in it, block by block, in lines.
  package let code: [[String]]
  /// What it says that the code prints, in lines.
  package let output: [String]

  /// Reads a guide.
  ///
  /// - Parameters:
  ///   - name: Its file's name, without the extension.
  ///   - folder: Where it is, in the package.
  ///   - file: A file of the package's tests.
  package init(
    _ name: String, in folder: String = "Sources/Swappable/Swappable.docc",
    near file: String = #filePath
  ) throws {
    let path = try Guide.package(of: file)
      .appendingPathComponent("\(folder)/\(name).md")
    var code: [[String]] = []
    var output: [String] = []
    var block: (fence: String, lines: [String])?
    lines = try String(contentsOf: path, encoding: .utf8).components(separatedBy: "\n")
    for line in lines {
      if let open = block, line == "```" {
        if open.fence == "```swift" { code.append(open.lines) }
        if open.fence == "```text" { output += open.lines }
        block = nil
      } else if block == nil, line.hasPrefix("```") {
        block = (line, [])
      } else {
        block?.lines.append(line)
      }
    }
    self.code = code
    self.output = output
  }

  /// The blocks that do not stand in a file, line for line; it may indent them.
  ///
  /// - Parameter file: The file that holds the same code, compiled.
  package func blocks(missingIn file: String = #filePath) throws -> [String] {
    try Guide.missing(code, in: file)
  }

  /// The same for what stands between blank lines, imports left out.
  ///
  /// - Parameter file: The file that holds the same code, compiled.
  package func paragraphs(missingIn file: String = #filePath) throws -> [String] {
    let paragraphs = code.flatMap { $0.split(separator: "").map(Array.init) }
    return try Guide.missing(paragraphs.filter { !$0[0].hasPrefix("import ") }, in: file)
  }

  private static func missing(_ code: [[String]], in file: String) throws -> [String] {
    let lines = try String(contentsOfFile: file, encoding: .utf8).components(separatedBy: "\n")
    return code.filter { !Guide.contains($0, lines) }.map { $0.joined(separator: "\n") }
  }

  private static func contains(_ block: [String], _ lines: [String]) -> Bool {
    guard let first = block.first else { return true }
    return lines.indices.contains { start in
      guard lines[start].hasSuffix(first), start + block.count <= lines.count else { return false }
      let indent = lines[start].dropLast(first.count)
      guard indent.allSatisfy({ $0 == " " }) else { return false }
      return zip(block, lines[start...]).allSatisfy { $0.isEmpty ? $1.isEmpty : $1 == indent + $0 }
    }
  }

  /// The folder of the package that a file belongs to.
  package static func package(of file: String = #filePath) throws -> URL {
    var folder = URL(fileURLWithPath: file).deletingLastPathComponent()
    while !FileManager.default.fileExists(
      atPath: folder.appendingPathComponent("Package.swift").path)
    {
      guard folder.path != "/" else { throw CocoaError(.fileNoSuchFile) }
      folder.deleteLastPathComponent()
    }
    return folder
  }
}
