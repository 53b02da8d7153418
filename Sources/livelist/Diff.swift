import Diffing
import FileSources
import ObservableCollections

/// `diff`: what leads from one source to another, as one event or as text.
struct Diff {
  let options: DiffOptions
  let output: Output

  func run() async throws(Failure) {
    let oldSource = try options.old.open(key: options.key)
    let newSource = try options.new.open(key: options.key)
    // Both read at the same time.
    oldSource.start()
    newSource.start()
    let old = try await oldSource.loadedOrFailure()
    let new = try await newSource.loadedOrFailure()
    warnOfDuplicates(old, new)
    let changeset = Changeset(from: old, to: new)
    guard !changeset.isEmpty else { return }
    switch options.format {
    case .json:
      let change = CollectionChange(
        before: old, after: new, revisionBefore: 0, revision: 1, changeset: changeset)
      output.line { EventLine.append(.change(change), to: &$0) }
    case .text:
      let style = ChangeDescription.Style(
        lineLimit: nil, isColored: output.isColouredTerminal)
      output.line { text in
        _ = changeset.describe(from: old, to: new, style: style) { line in
          text.append(Array(line.utf8))
          text.append("\n")
        }
        text.append(changeset.summary + "\n")
      }
    }
    // The process frees its memory faster than its objects do.
    Program.end()
  }

  private func warnOfDuplicates(_ snapshots: Snapshot<JSONElement>...) {
    var duplicates = DuplicateKeys()
    for snapshot in snapshots {
      if let key = duplicates.firstNew(inNewSource: snapshot) { DuplicateKeys.warn(key) }
    }
  }
}
