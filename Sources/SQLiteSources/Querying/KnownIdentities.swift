import Diffing
import ObservableCollections

/// Which identities occur more than once.
///
/// They are counted by their hashes, of 63 bits and more, drawn anew by each process: two that share one
/// would be told of as one, which is all that could come of it.
struct KnownIdentities<Element: Differentiable & Sendable> {
  private struct Repeated {
    let identifier: Element.DifferenceIdentifier
    var count: Int
  }

  private var known = HashSet64()
  private var repeated: [UInt64: Repeated] = [:]
  /// The one that is told of, for as long as it is repeated.
  private var told: UInt64?

  /// Counts what went and what came.
  ///
  /// - Complexity: O(changes).
  mutating func update(removed: [Element], added: [Element]) {
    known.reserveCapacity(added.count)
    for element in removed {
      let hash = KnownIdentities.hash(of: element)
      if let entry = repeated[hash] {
        repeated[hash]?.count -= 1
        if entry.count == 2 { repeated[hash] = nil }
      } else {
        known.remove(hash)
      }
    }
    for element in added {
      let hash = KnownIdentities.hash(of: element)
      if known.insert(hash) { continue }
      repeated[hash, default: Repeated(identifier: element.differenceIdentifier, count: 1)].count +=
        1
    }
    if told.map({ repeated[$0] == nil }) ?? true { told = repeated.first?.key }
  }

  /// Names an identity that several elements have, if there is one.
  var diagnostic: SourceDiagnostic? {
    told.flatMap { repeated[$0] }.map { entry in
      SourceDiagnostic(
        code: "duplicate-identity",
        message: "Several elements have the same key, \(entry.identifier); "
          + "their changes may be told as those of one another.")
    }
  }

  private static func hash(of element: Element) -> UInt64 {
    UInt64(bitPattern: Int64(element.differenceIdentifier.hashValue))
  }
}
