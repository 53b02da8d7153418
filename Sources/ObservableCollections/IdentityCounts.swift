package import Diffing

/// The number of elements with each identity, which each change updates.
package struct IdentityCounts<Element: Differentiable & Sendable> {
  private var counts: [Element.DifferenceIdentifier: Int] = [:]
  /// The number of elements whose identity an earlier element has.
  private var surplus = 0

  package init() {}

  /// A Boolean value that indicates whether any elements share an identity.
  package var hasDuplicates: Bool { surplus > 0 }

  /// Counts removed and added elements.
  ///
  /// - Complexity: O(*k*) in the *k* removed and added elements.
  package mutating func update(removed: [Element], added: [Element]) {
    counts.reserveCapacity(counts.count + added.count - removed.count)
    for element in removed {
      let identifier = element.differenceIdentifier
      guard let count = counts[identifier] else { continue }
      counts[identifier] = count > 1 ? count - 1 : nil
      if count > 1 { surplus -= 1 }
    }
    for element in added {
      let count = counts[element.differenceIdentifier, default: 0] + 1
      counts[element.differenceIdentifier] = count
      if count > 1 { surplus += 1 }
    }
  }

  /// Returns a diagnostic that names the first two elements with the same identity.
  ///
  /// - Returns: The diagnostic, or `nil` if all identities are unique.
  package func diagnostic(for elements: some Sequence<Element>) -> SourceDiagnostic? {
    if surplus == 0 { return nil }
    var seen: [Element.DifferenceIdentifier: Int] = [:]
    for (offset, element) in elements.enumerated() {
      let identifier = element.differenceIdentifier
      if let first = seen.updateValue(offset, forKey: identifier) {
        return SourceDiagnostic(
          code: "duplicate-identity",
          message: "Elements \(first) and \(offset) have the same key, \(identifier); "
            + "a change of one may be reported for the other.")
      }
    }
    return nil
  }
}
