import Diffing
import FileSources
import ObservableCollections

/// A search for keys that occur more than once, with one warning for each source and key.
///
/// It counts hashes instead of keys, because keys would keep deleted elements alive.
struct DuplicateKeys {
  private var counts: [Int: Int] = [:]
  /// A Boolean value that indicates whether the current source has a duplicate key.
  private var isFound = false
  private var warned: Set<String> = []

  /// Returns the first duplicate key after an event, unless a warning was given for the source or
  /// key.
  mutating func firstNew(
    after event: CollectionEvent<JSONElement>
  ) -> JSONElement.Identifier? {
    switch event {
    case .initial(let snapshot, _): return firstNew(inNewSource: snapshot)
    case .change(let change):
      guard !isFound else { return nil }
      for (_, element) in change.deleted {
        let hash = element.differenceIdentifier.hashValue
        counts[hash] = counts[hash, default: 1] - 1
      }
      var isSuspicious = false
      for (_, element) in change.inserted where count(element) > 1 { isSuspicious = true }
      return isSuspicious ? first(in: change.after) : nil
    }
  }

  /// Returns the first duplicate key in a new source, unless a warning was given for the key.
  mutating func firstNew(inNewSource snapshot: Snapshot<JSONElement>) -> JSONElement.Identifier? {
    isFound = false
    counts = [:]
    counts.reserveCapacity(snapshot.count)
    var isSuspicious = false
    for element in snapshot where count(element) > 1 { isSuspicious = true }
    return isSuspicious ? first(in: snapshot) : nil
  }

  static func warn(_ key: JSONElement.Identifier) {
    let shown = ValueFormatter.shortened(key.description, to: 80)
    Program.report(
      "the key \(shown) occurs more than once; a change of one such element may be reported for "
        + "another one; use --key with a field that is unique")
  }

  private mutating func count(_ element: JSONElement) -> Int {
    let hash = element.differenceIdentifier.hashValue
    let count = counts[hash, default: 0] + 1
    counts[hash] = count
    return count
  }

  /// Returns the first duplicate key. It compares the keys, because two keys can have the same
  /// hash.
  private mutating func first(in snapshot: Snapshot<JSONElement>) -> JSONElement.Identifier? {
    var seen: Set<JSONElement.Identifier> = []
    seen.reserveCapacity(snapshot.count)
    guard
      let key = snapshot.lazy.map(\.differenceIdentifier).first(where: { !seen.insert($0).inserted }
      )
    else { return nil }
    isFound = true
    counts = [:]
    return warned.insert(key.description).inserted ? key : nil
  }
}
