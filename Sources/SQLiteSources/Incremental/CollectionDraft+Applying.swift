import Diffing
import ObservableCollections

extension CollectionDraft {
  /// Applies a changeset.
  ///
  /// - Parameters:
  ///   - changeset: What changes.
  ///   - inserted: The elements that come, in the order of its insertions.
  ///   - updated: What the updated elements become, in the order of its updates.
  func apply(_ changeset: Changeset, inserted: [Element], updated: [Element]) {
    let old = savepoint
    let places =
      zip(changeset.insertions, inserted).map { ($0, $1) }
      + zip(changeset.updates.map(\.to), updated).map { ($0, $1) }
    let sorted = places.sorted { $0.0 < $1.0 }
    let new = SparseElements(
      count: count + changeset.countChange, offsets: sorted.map(\.0), elements: sorted.map(\.1))
    write(changeset.applying(to: elements, with: new), over: old) { _ in changeset }
  }
}
