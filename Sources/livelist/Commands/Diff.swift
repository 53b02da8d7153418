import Diffing
import FileSources
import ObservableCollections
import RemoteSources

/// The command `diff`: prints the difference between two sources, as one event or as text.
struct Diff {
  let options: DiffOptions
  let output: Output

  func run() async throws(LivelistError) {
    let oldSource = try options.old.open(key: options.key)
    let newSource = try options.new.open(key: options.key)
    // Load both sources concurrently.
    oldSource.start()
    newSource.start()
    let old = try await oldSource.loadedSnapshot()
    let new = try await newSource.loadedSnapshot()
    warnOfDuplicates(old, new)
    let changeset = Changeset(from: old, to: new)
    guard !changeset.isEmpty else { return }
    switch options.format {
    case .json:
      let change = CollectionChange(
        before: old, after: new, revisionBefore: 0, revision: 1, changeset: changeset)
      output.line { EventLine.append(change, to: &$0) }
    case .text:
      let style = ChangeDescription.Style(
        lineLimit: nil, isColored: output.isColorTerminal)
      output.line { text in
        _ = changeset.describe(from: old, to: new, style: style) { line in
          text.append(Array(line.utf8))
          text.append("\n")
        }
        text.append(changeset.summary + "\n")
      }
    }
    // Exiting the process frees the memory faster than releasing all objects.
    Program.end()
  }

  private func warnOfDuplicates(_ snapshots: Snapshot<JSONElement>...) {
    var duplicates = DuplicateKeys()
    for snapshot in snapshots {
      if let key = duplicates.firstNew(inNewSource: snapshot) { DuplicateKeys.warn(key) }
    }
  }
}
