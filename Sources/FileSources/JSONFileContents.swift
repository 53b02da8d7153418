import Diffing
import FileWatching

/// The text of one version of a file, which its elements were made of.
///
/// The elements themselves are those of the collection: they are not kept twice.
struct JSONFileContents: Sendable {
  private(set) var document: JSONDocument

  /// What a version brings, by texts: an element that is not what it was is deleted, and another one
  /// inserted.
  struct Change<Element> {
    var changeset: Changeset
    /// What comes at the insertions.
    var inserted: [Element]
    /// What the updated elements become.
    var updated: [Element] = []
  }

  /// Reads the first version.
  init<Element>(
    _ bytes: [UInt8], key: String?, decoding: ElementDecoding<Element>,
    into elements: inout [Element]
  ) throws(JSONError) {
    document = try JSONDocument(bytes, key: key)
    do throws(UndecodableElement) {
      elements = try decoding.decode(document.values)
    } catch {
      throw document.error(error)
    }
  }

  /// Reads the next version: what it has in common with this one is not decoded again.
  ///
  /// - Returns: What is new; nil if no byte is.
  /// - Throws: what is wrong with the next version; this one stays.
  mutating func update<Element>(
    for difference: FileDifference.Bytes, decoding: ElementDecoding<Element>
  ) throws(JSONError) -> Change<Element>? {
    guard let edit = try document.edit(for: difference) else { return nil }
    let changeset = edit.changeset
    let start = edit.elements.lowerBound
    let values = JSONValues(
      text: edit.text, spans: changeset.insertions.map { edit.spans[$0 - start] },
      key: document.key)
    let inserted: [Element]
    do throws(UndecodableElement) {
      inserted = try decoding.decode(values)
    } catch {
      var next = document
      next.apply(edit)
      var fault = error
      fault.offset = changeset.insertions[error.offset]
      throw next.error(fault)
    }
    document.apply(edit)
    return Change(changeset: changeset, inserted: inserted)
  }
}

extension JSONDocumentEdit {
  /// What becomes of the elements.
  fileprivate var changeset: Changeset {
    let limit = min(origins.count, elements.count)
    var first = 0
    while first < limit, origins[first] == elements.lowerBound + first { first += 1 }
    let start = elements.lowerBound + first
    let changeset = Changeset(
      origins: origins[first...].map { $0 < 0 ? -1 : $0 - start },
      oldCount: elements.count - first, isUpdated: { _, _ in false })
    if start == 0 { return changeset }
    return Changeset(
      deletions: changeset.deletions.map { $0 + start },
      insertions: changeset.insertions.map { $0 + start },
      moves: changeset.moves.map { .init(from: $0.from + start, to: $0.to + start) })
  }
}
