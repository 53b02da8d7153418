import Diffing
import FileSources
import ObservableCollections
import RemoteSources

/// The command `diff`: prints the difference between two sources, as one event or as text.
struct Diff {
  let options: DiffOptions
  let output: Output

  func run() async throws(LivelistError) {
    do throws(LivelistError) {
      let isDifferent = try await printDifference()
      // Exiting the process frees the memory faster than releasing all objects.
      Program.end(isDifferent && options.hasExitCode ? 1 : 0)
    } catch {
      throw options.hasExitCode ? LivelistError(status: 2, message: error.message) : error
    }
  }

  /// - Returns: A Boolean value that indicates whether the sources differ.
  private func printDifference() async throws(LivelistError) -> Bool {
    let wholeOld = try options.old.open(options.sources)
    let wholeNew = try options.new.open(options.sources)
    let oldSource = options.selection.applied(to: wholeOld)
    let newSource = options.selection.applied(to: wholeNew)
    // Load both sources concurrently.
    oldSource.start()
    newSource.start()
    let isStrict = options.sources.hasStrictLines
    let old = try await isStrict ? oldSource.completeSnapshot() : oldSource.loadedSnapshot()
    let new = try await isStrict ? newSource.completeSnapshot() : newSource.loadedSnapshot()
    try checkSkippedLines((options.old, wholeOld), (options.new, wholeNew))
    options.selection.reportMistakes(in: wholeOld.snapshot, wholeNew.snapshot)
    warnOfDuplicates((options.old, oldSource, old), (options.new, newSource, new))
    let changeset = Changeset(from: old, to: new)
    if changeset.isEmpty { return false }
    hint(old, new)
    switch options.output {
    case .change(.json):
      let change = CollectionChange(
        before: old, after: new, revisionBefore: 0, revision: 1, changeset: changeset)
      output.json { EventLine.append(change, to: &$0) }
    case .change(.text):
      output.line {
        EventText.append(
          changeset, from: old, to: new, style: output.textStyle, to: &$0)
      }
    case .counts: output.line { $0.append(changeset.summary + "\n") }
    case .nothing: break
    }
    return true
  }

  /// Reports skipped lines. Throws an error if the comparison would be meaningless without them.
  private func checkSkippedLines(
    _ sides: (SourceSpecification, any DataSource<JSONElement>)...
  ) throws(LivelistError) {
    for (_, source) in sides {
      source.reportFailure()
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
      // Without --fields, the selected elements have the keys of the source.
      let isUnique = !options.selection.changesElements && specification.hasUniqueKeys(source)
      warnings.check(snapshot, isUnique: isUnique)
    }
  }

  /// Reports that there is a member that could identify the elements.
  private func hint(_ old: Snapshot<JSONElement>, _ new: Snapshot<JSONElement>) {
    if case .nothing = options.output { return }
    guard options.sources.key == nil, !options.old.hasOwnKey || !options.new.hasOwnKey else {
      return
    }
    let name = "id"
    guard old.allSatisfy({ $0[name] != nil }), new.allSatisfy({ $0[name] != nil }) else { return }
    Program.report(
      "every element has a member \"\(name)\"; with --key \(name), an edited element is one update "
        + "instead of a deletion and an insertion")
  }
}
