import FileSources
import Foundation
import ObservableCollections
import RemoteSources
import SwappablePrimitives
import Synchronizers

/// The command `merge-driver`: merges a list in a file for git, and keeps the layout of the file.
struct MergeDriver: Command {
  /// The exit status that tells git that there is no result.
  static let failure: Int32 = 129

  private let words: [ByteString]
  private let options: Options

  init(_ words: Arguments) throws(LivelistError) {
    if words.options.printsInstallation {
      try words.checkCount(0...1, "needs at most one pattern with --install")
    } else {
      try words.checkCount(3...4, "needs three files")
    }
    self.words = words.operands
    options = words.options
  }

  func run(_ output: Output) throws(LivelistError) {
    if options.printsInstallation { return output.line { $0.append(installation) } }
    do throws(LivelistError) {
      if try !merged() { Program.end(1) }
    } catch {
      throw LivelistError(status: Self.failure, message: error.message)
    }
  }

  /// The two lines that set git up.
  private var installation: String {
    var command = ["livelist", "merge-driver"]
    if let key = options.sources.key { command += ["--key", key] }
    for (path, field) in options.nestedKeys.sorted(by: { $0.key < $1.key }) {
      command += ["--nested-key", "\(path)=\(field)"]
    }
    let driver = command.map(Self.quoted).joined(separator: " ") + " %O %A %B %P"
    let attribute = "\(words.first?.description ?? "*.json") merge=livelist"
    return """
      git config merge.livelist.driver \(Self.quoted(driver))
      echo \(Self.quoted(attribute)) >> .gitattributes

      """
  }

  /// Returns a text as one word of the shell.
  private static func quoted(_ text: String) -> String {
    let isPlain = text.allSatisfy { $0.isLetter || $0.isNumber || "-_./=".contains($0) }
    return isPlain
      ? text
      : "'"
        + text.split(separator: "'", omittingEmptySubsequences: false)
        .joined(separator: "'\\''") + "'"
  }

  /// Merges the files, and writes the result to `MINE`.
  ///
  /// - Returns: A Boolean value that indicates whether there are no conflicts.
  private func merged() throws(LivelistError) -> Bool {
    let name = (words.count > 3 ? words[3] : words[1]).description
    let texts = try words[..<3].map { (path) throws(LivelistError) in try Self.contents(of: path) }
    // One side is unchanged, or both are the same.
    if texts[0] == texts[2] || texts[1] == texts[2] { return true }
    if texts[0] == texts[1] {
      try Self.write(texts[2][...], to: words[1])
      return true
    }
    let versions: MergedText.Versions
    do throws(JSONElement.ParsingError) {
      versions = try Self.versions(texts, named: name)
    } catch {
      return try mergedByLine(name, because: "\(error)")
    }
    guard let mine = versions.mine, let theirs = versions.theirs else {
      return try mergedByLine(name, because: "a side is empty")
    }
    var keys = options.nestedKeys
    let lists = [versions.base, mine, theirs].compactMap(\.self).map(\.element)
    if lists.contains(where: { $0.kind == .array }) {
      let items = lists.compactMap { try? $0.items() }
      guard let key = options.sources.key ?? KeyWarnings.candidate(in: items) else {
        return try mergedByLine(
          name, because: "no member is known to identify its elements; use merge-driver --key FIELD"
        )
      }
      guard lists.allSatisfy({ $0.identifiedParts(key: key) != nil }) else {
        return try mergedByLine(
          name, because: "the member \"\(key)\" does not identify its elements")
      }
      keys[""] = key
    } else if lists.contains(where: { $0.kind != .object }) {
      return try mergedByLine(name, because: "it is neither a list nor an object")
    }
    func result(_ winner: MemberMerge.Preference) -> (JSONElement, [String]) {
      var merge = MemberMerge(nestedKeys: keys, preference: winner)
      merge.keepsEdits = false
      let value = merge.merge(
        versions.base?.element, mine.element, theirs.element, named: name)
      return (value, merge.conflicts.map(\.message))
    }
    let (mineResult, conflicts) = result(.mine)
    let (theirResult, _) = result(.theirs)
    let merged = MergedText(keys: keys).text(
      mine: mineResult, theirs: conflicts.isEmpty ? mineResult : theirResult, of: versions)
    var text = merged.bytes
    for conflict in conflicts { Program.report(conflict) }
    let around = (mine.text[..<mine.span.lowerBound], mine.text[mine.span.upperBound...])
    // The last mark ends its line.
    if text.last == UInt8(ascii: "\n"), around.1.contains(UInt8(ascii: "\n")) {
      while text.last.map(WrittenValue.isSpace) == true { text.removeLast() }
    }
    try Self.write(around.0 + text + around.1, to: words[1])
    return !merged.hasConflicts
  }

  /// Parses the versions: as one value each, or as JSON Lines. An empty base is no version.
  private static func versions(
    _ texts: [[UInt8]], named name: String
  ) throws(JSONElement.ParsingError) -> MergedText.Versions {
    let isLines = ["jsonl", "ndjson", "log"].contains { name.hasSuffix(".\($0)") }
    func version(
      _ text: [UInt8], _ isLines: Bool
    ) throws(JSONElement.ParsingError) -> WrittenValue? {
      if text.allSatisfy(WrittenValue.isSpace) { return nil }
      return isLines ? try WrittenValue(lines: text) : try WrittenValue(json: text)
    }
    func versions(_ isLines: Bool) throws(JSONElement.ParsingError) -> MergedText.Versions {
      MergedText.Versions(
        base: try version(texts[0], isLines), mine: try version(texts[1], isLines),
        theirs: try version(texts[2], isLines))
    }
    if isLines { return try versions(true) }
    do throws(JSONElement.ParsingError) {
      return try versions(false)
    } catch {
      if let lines = try? versions(true) { return lines }
      throw error
    }
  }

  /// Merges the files with git, line by line.
  private func mergedByLine(_ name: String, because reason: String) throws(LivelistError) -> Bool {
    Program.report("merges \(name) line by line: \(reason)")
    let git = Process()
    git.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    git.arguments =
      ["git", "merge-file", "-L", "ours", "-L", "base", "-L", "theirs"]
      + [words[1], words[0], words[2]].map(\.description)
    do {
      try git.run()
    } catch {
      throw .input("cannot run git: \(error.localizedDescription)")
    }
    git.waitUntilExit()
    // The status is the number of conflicts, or above 127 for an error.
    guard git.terminationReason == .exit, git.terminationStatus < 128 else {
      throw .input("git merge-file has failed")
    }
    return git.terminationStatus == 0
  }

  private static func contents(of path: ByteString) throws(LivelistError) -> [UInt8] {
    do {
      return Array(try Data(contentsOf: URL(fileURLWithPath: path.description)))
    } catch {
      throw .input("cannot read \(path): \(error.localizedDescription)")
    }
  }

  private static func write(_ bytes: ArraySlice<UInt8>, to path: ByteString) throws(LivelistError) {
    do {
      try Data(bytes).write(to: URL(fileURLWithPath: path.description))
    } catch {
      throw .input("cannot write \(path): \(error.localizedDescription)")
    }
  }
}
