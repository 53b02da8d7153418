import Diffing
import FileSources
import ObservableCollections
import RemoteSources

/// The format of events for people.
enum EventText {
  /// Appends a line for each changed element, and a summary.
  static func append(
    _ changeset: Changeset, from old: Snapshot<JSONElement>, to new: Snapshot<JSONElement>,
    style: ChangeDescription.Style, to text: inout LineBuffer
  ) {
    _ = changeset.describe(from: old, to: new, style: style) { line in
      text.append(Array(line.utf8))
      text.append("\n")
    }
    text.append(changeset.summary + "\n")
  }

  /// Appends the elements, one a line, and their number.
  static func append(_ elements: Snapshot<JSONElement>, to text: inout LineBuffer) {
    for element in elements {
      text.append(element.utf8)
      text.append("\n")
    }
    text.append(elements.count == 1 ? "1 element\n" : "\(elements.count) elements\n")
  }
}
