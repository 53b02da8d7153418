extension Patch {
  /// The patch from the new version back to the old one: the steps in reverse, each undone.
  ///
  /// - Complexity: O(*k*) for *k* steps.
  public var inverse: Patch {
    Patch(steps: steps.reversed().map(\.inverse))
  }
}

extension ElementChange {
  /// The step that undoes this one.
  public var inverse: ElementChange {
    switch self {
    case .insert(let element, let offset): .remove(element, at: offset)
    case .remove(let element, let offset): .insert(element, at: offset)
    case .update(let old, let new, let offset): .update(old: new, new: old, at: offset)
    case .move(let element, let source, let destination):
      .move(element, from: destination, to: source)
    }
  }
}
