import ChangeDescriptions
import Diffing
import FileSources
import ObservableCollections
import RemoteSources

/// The command `diff`: prints the difference between two sources, as one event or as text.
struct Diff: Command {
  private let old: SourceSpecification
  private let new: SourceSpecification
  private let options: Options

  init(_ words: Arguments) throws(LivelistError) {
    try words.checkCount(2...2, "needs two sources")
    old = try SourceSpecification(words.operands[0], allowing: .list)
    new = try SourceSpecification(words.operands[1], allowing: .list)
    options = words.options
    if old.readsInput, new.readsInput {
      throw .usage("both sources are standard input, which can be read only once; name a file")
    }
  }

  func run(_ output: Output) async throws(LivelistError) {
    do throws(LivelistError) {
      let isDifferent = try await printDifference(output)
      // Exiting the process frees the memory faster than releasing all objects.
      Program.end(isDifferent && options.hasExitCode ? 1 : 0)
    } catch {
      throw options.hasExitCode ? LivelistError(status: 2, message: error.message) : error
    }
  }

  /// - Returns: A Boolean value that indicates whether the sources differ.
  private func printDifference(_ output: Output) async throws(LivelistError) -> Bool {
    let wholeOld = try await old.openWhenThere(options.sources)
    let wholeNew = try await new.openWhenThere(options.sources)
    let oldSource = options.selection.applied(to: wholeOld)
    let newSource = options.selection.applied(to: wholeNew)
    // Load both sources concurrently.
    oldSource.start()
    newSource.start()
    let isStrict = options.sources.hasStrictLines
    let wait = options.sources.wait
    let before = try await oldSource.loadedSnapshot(waiting: wait, isComplete: isStrict)
    let after = try await newSource.loadedSnapshot(waiting: wait, isComplete: isStrict)
    try checkSkippedLines((old, wholeOld), (new, wholeNew))
    let contents = [wholeOld.snapshot, wholeNew.snapshot]
    do throws(LivelistError) {
      try await options.selection.check(contents.lazy.joined(), of: .several([old, new]))
    } catch {
      // A script must not take it for a difference.
      throw .usage(error.message)
    }
    options.selection.reportMistakes(in: contents.lazy.joined())
    warnOfDuplicates((old, oldSource, before), (new, newSource, after))
    let changeset = Changeset(from: before, to: after)
    if changeset.isEmpty { return false }
    if options.isQuiet { return true }
    // A member could identify the elements.
    if options.sources.key == nil, !(old.hasOwnKey && new.hasOwnKey) {
      KeyWarnings.reportCandidate(in: before, after)
    }
    if options.printsCounts {
      output.line { $0.append(changeset.summary + "\n") }
    } else if options.printsSummary {
      output.line { $0.append(DifferenceSummary(changeset, from: before, to: after).text) }
    } else if options.format == .text {
      output.line {
        EventText.append(changeset, from: before, to: after, style: output.textStyle, to: &$0)
      }
    } else {
      let change = CollectionChange(
        before: before, after: after, revisionBefore: 0, revision: 1, changeset: changeset)
      output.json { EventLine.append(change, to: &$0) }
    }
    return true
  }

  /// Reports skipped lines. Throws an error if the comparison would be meaningless without them.
  private func checkSkippedLines(
    _ sides: (SourceSpecification, any DataSource<JSONElement>)...
  ) throws(LivelistError) {
    for (_, source) in sides {
      source.reportFailure(status: options.hasExitCode ? 2 : 1)
      source.reportSkippedLines()
    }
    for (specification, source) in sides where source.hasSkippedLines {
      if source.snapshot.isEmpty {
        throw .input("cannot compare \(specification.text): all of its lines are skipped")
      }
      if options.hasExitCode {
        throw .input(
          "cannot tell whether the sources differ: some lines of \(specification.text) are skipped")
      }
    }
  }

  private func warnOfDuplicates(
    _ sides: (SourceSpecification, any DataSource<JSONElement>, Snapshot<JSONElement>)...
  ) {
    var warnings = KeyWarnings()
    for (specification, source, snapshot) in sides {
      // Without --fields and --ignore, the selected elements have the keys of the source.
      let isUnique = options.selection.hasAllFields && specification.hasUniqueKeys(source)
      warnings.check(snapshot, isUnique: isUnique)
    }
  }
}

/// A difference in words: which elements changed, and in which fields.
private struct DifferenceSummary {
  /// The largest number of keys in a line.
  private static let limit = 8

  private let lines: [String]

  var text: String { lines.map { $0.printableLine + "\n" }.joined() }

  init(
    _ changeset: Changeset, from before: Snapshot<JSONElement>, to after: Snapshot<JSONElement>
  ) {
    var fields: [(name: String, elements: [JSONElement])] = []
    for update in changeset.updates {
      let (old, new) = (before[update.from], after[update.to])
      for name in Self.changedFields(old, new) {
        if let place = fields.firstIndex(where: { $0.name == name }) {
          fields[place].elements.append(new)
        } else {
          fields.append((name, [new]))
        }
      }
    }
    lines =
      [
        Self.line(changeset.insertions.map { after[$0] }, "inserted"),
        Self.line(changeset.deletions.map { before[$0] }, "deleted"),
        Self.line(changeset.updates.map { after[$0.to] }, "updated"),
      ].compactMap(\.self)
      + fields.map { "  \($0.name) of \(Self.listed($0.elements))" }
      + [Self.line(changeset.moves.map { after[$0.to] }, "moved")].compactMap(\.self)
  }

  private static func line(_ elements: [JSONElement], _ verb: String) -> String? {
    if elements.isEmpty { return nil }
    let subject = elements.count == 1 ? "1 element was" : "\(elements.count) elements were"
    return "\(subject) \(verb): \(listed(elements))"
  }

  private static func listed(_ elements: [JSONElement]) -> String {
    let keys = elements.prefix(limit)
      .map { ValueFormatter.shortened($0.differenceIdentifier.description, to: 40) }
    let rest = elements.count - keys.count
    return keys.joined(separator: ", ")
      + (rest == 0 ? "" : rest == 1 ? " and 1 other" : " and \(rest) others")
  }

  /// Returns the names of the members that differ, in the order of the new element.
  private static func changedFields(_ old: JSONElement, _ new: JSONElement) -> [String] {
    let (oldNames, newNames) = ((old.members ?? []).map(\.name), (new.members ?? []).map(\.name))
    return (newNames + oldNames.filter { !newNames.contains($0) }).filter { old[$0] != new[$0] }
  }
}
