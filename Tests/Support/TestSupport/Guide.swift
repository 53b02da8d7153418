package import Foundation

/// A guide of the documentation, whose code must be compiled and run by a test.
package struct Guide {
  /// The whole text.
  package let lines: [String]
  /// The blocks of code, in lines.
  package let code: [[String]]
  /// The blocks of output, in lines.
  package let output: [String]

  /// Reads a guide.
  ///
  /// - Parameters:
  ///   - name: The file name, without the extension.
  ///   - folder: The folder of the guide in the package.
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

  /// Returns the blocks that a file does not contain line for line. The file may indent them.
  ///
  /// - Parameter file: The file with the compiled code.
  package func blocks(missingIn file: String = #filePath) throws -> [String] {
    try Guide.missing(code, in: file)
  }

  /// Returns the paragraphs that a file does not contain. A paragraph ends at a blank line. Imports are ignored.
  ///
  /// - Parameter file: The file with the compiled code.
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

  /// Returns the folder of the package that contains a file.
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
