import Diffing
import ObservableCollections

extension CollectionDraft {
  var snapshot: [Element] { elements }

  func apply(_ changeset: Changeset, inserted: [Element], updated: [Element]) {
    let old = elements
    var removals = Set(changeset.deletions)
    for move in changeset.moves { removals.insert(move.from) }
    var insertions: [(Int, Element)] = Array(zip(changeset.insertions, inserted))
    insertions += changeset.moves.map { ($0.to, old[$0.from]) }
    insertions.sort { $0.0 < $1.0 }
    var new: [Element] = []
    new.reserveCapacity(old.count)
    var rest = insertions[...]
    func insert() {
      while let first = rest.first, first.0 == new.count {
        new.append(first.1)
        rest.removeFirst()
      }
    }
    for (offset, element) in old.enumerated() where !removals.contains(offset) {
      insert()
      new.append(element)
    }
    insert()
    replace(with: new)
  }
}
