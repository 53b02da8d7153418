/// One step of a change: what happened to a single element, and where.
public enum ElementChange<Element> {
  /// An element came.
  case insert(Element, at: Int)
  /// An element went.
  case remove(Element, at: Int)
  /// The content of an element changed.
  case update(old: Element, new: Element, at: Int)
  /// An element was taken out and put in again; the destination is counted without it.
  case move(Element, from: Int, to: Int)
}

extension ElementChange: Sendable where Element: Sendable {}
extension ElementChange: Equatable where Element: Equatable {}
extension ElementChange: Hashable where Element: Hashable {}
