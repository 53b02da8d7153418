public import Diffing

/// An element of an operator's input, and whether the operator shows it.
///
/// An operator that hides elements has a list of all of them as its output. A filter over that list shows the rest.
@usableFromInline
struct MarkedElement<Element: Differentiable & Sendable>: Differentiable, Sendable {
  @usableFromInline let element: Element
  @usableFromInline let isShown: Bool

  @inlinable
  init(_ element: Element, isShown: Bool) {
    self.element = element
    self.isShown = isShown
  }

  @inlinable var differenceIdentifier: Element.DifferenceIdentifier { element.differenceIdentifier }

  @inlinable
  func isContentEqual(to source: MarkedElement) -> Bool {
    isShown == source.isShown && source.element.hasSameContent(as: element)
  }
}

extension LiveCollection {
  /// Derives a collection of the elements that are shown.
  @inlinable
  func shownElements<Shown>() -> LiveCollection<Shown> where Element == MarkedElement<Shown> {
    compactMap { $0.isShown ? $0.element : nil }
  }
}
