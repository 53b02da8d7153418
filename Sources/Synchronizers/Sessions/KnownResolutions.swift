import Diffing
import ObservableCollections

/// What was decided about conflicts before.
struct KnownResolutions<Element: Differentiable & Sendable> {
  private let conflicts: [Element.DifferenceIdentifier: [ResolvedConflict<Element>]]

  init(_ conflicts: [ResolvedConflict<Element>]) {
    var byIdentity: [Element.DifferenceIdentifier: [ResolvedConflict<Element>]] = [:]
    for resolved in conflicts {
      guard let identity = Self.identity(of: resolved.conflict) else { continue }
      byIdentity[identity, default: []].append(resolved)
    }
    self.conflicts = byIdentity
  }

  /// What the very same conflict came to; nil for one that is new.
  func resolution(of conflict: MergeConflict<Element>) -> MergeConflict<Element>.Resolution? {
    guard !conflicts.isEmpty, let identity = Self.identity(of: conflict) else { return nil }
    return conflicts[identity]?.first { known in
      known.conflict.kind == conflict.kind
        && areSame(known.conflict.base, conflict.base)
        && areSame(known.conflict.mine, conflict.mine)
        && areSame(known.conflict.theirs, conflict.theirs)
    }?.resolution
  }

  private static func identity(
    of conflict: MergeConflict<Element>
  ) -> Element.DifferenceIdentifier? {
    (conflict.mine ?? conflict.theirs)?.differenceIdentifier
  }

  private func areSame(_ one: Element?, _ other: Element?) -> Bool {
    switch (one, other) {
    case (nil, nil): true
    case (let one?, let other?): isSame(one, other)
    default: false
    }
  }
}
