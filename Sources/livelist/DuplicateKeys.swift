import Diffing
import FileSources
import ObservableCollections

/// Finds keys that occur twice, so that they can be warned of once.
///
/// It counts hashes of keys, not keys, which would keep alive elements that have long gone.
struct DuplicateKeys {
  private var counts: [Int: Int] = [:]
  /// Whether the source shown was warned of: one key stands for all.
  private var isFound = false
  private var warned: Set<String> = []

  /// The first key that occurs twice after an event, if nobody was warned of this source or this key.
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

  /// The first key that occurs twice in what another source holds, if nobody was warned of it.
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
      "the key \(shown) occurs more than once; changes of one such element may be told as those of "
        + "another, give a key that is unique by --key")
  }

  private mutating func count(_ element: JSONElement) -> Int {
    let hash = element.differenceIdentifier.hashValue
    let count = counts[hash, default: 0] + 1
    counts[hash] = count
    return count
  }

  /// Two keys may share a hash: looks at the keys themselves.
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
