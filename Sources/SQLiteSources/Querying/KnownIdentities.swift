import Diffing
import ObservableCollections

/// How often each identity occurs, and which of them occur more than once.
struct KnownIdentities<Element: Differentiable & Sendable> {
  private var counts: [Element.DifferenceIdentifier: Int] = [:]
  private var repeated: [Element.DifferenceIdentifier: Int] = [:]
  /// The one that is told of, for as long as it is repeated.
  private var told: Element.DifferenceIdentifier?

  /// Counts what went and what came.
  ///
  /// - Complexity: O(changes).
  mutating func update(
    removed: some Collection<Element>, added: some Collection<Element>
  ) {
    if counts.isEmpty { counts.reserveCapacity(added.count) }
    for element in removed {
      let identifier = element.differenceIdentifier
      guard let count = counts[identifier] else { continue }
      counts[identifier] = count > 1 ? count - 1 : nil
      if count > 1 { repeated[identifier] = count > 2 ? count - 1 : nil }
    }
    for element in added {
      let identifier = element.differenceIdentifier
      let count = counts[identifier, default: 0] + 1
      counts[identifier] = count
      if count > 1 { repeated[identifier] = count }
    }
    if told.map({ repeated[$0] == nil }) ?? true { told = repeated.first?.key }
  }

  /// Names an identity that several elements have, if there is one.
  var diagnostic: SourceDiagnostic? {
    told.map { identifier in
      SourceDiagnostic(
        code: "duplicate-identity",
        message: "Several elements have the same key, \(identifier); "
          + "their changes may be told as those of one another.")
    }
  }
}
