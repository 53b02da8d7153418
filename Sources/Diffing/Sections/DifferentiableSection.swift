/// A section of a collection: a value of its own that holds elements.
///
/// Its identity says which section it is. Its content says what is shown of the section itself, such as
/// a heading; it may depend on the elements, for instance where the heading tells how many there are. A
/// section is updated when `isContentEqual(to:)` says so, and only then. A type that leaves that to `==`
/// compares its elements with it, so that every change of an element updates the section as well.
///
/// ```swift
/// struct Album: Identifiable, DifferentiableSection {
///   let id: String
///   var title: String
///   var elements: [Track]
///
///   init(id: String, title: String, elements: [Track]) {
///     (self.id, self.title, self.elements) = (id, title, elements)
///   }
///
///   init(source: Album, elements: some Collection<Track>) {
///     self.init(id: source.id, title: source.title, elements: Array(elements))
///   }
///
///   func isContentEqual(to source: Album) -> Bool {
///     title == source.title && elements.count == source.elements.count
///   }
/// }
/// ```
///
/// `ArraySection` is ready-made.
public protocol DifferentiableSection: Differentiable {
  /// What holds the elements.
  associatedtype Elements: Collection where Elements.Element: Differentiable

  /// The elements, in order.
  var elements: Elements { get }

  /// Creates a section that is another one in all but its elements.
  ///
  /// - Parameters:
  ///   - source: The section that it takes identity and content from.
  ///   - elements: The elements that it holds.
  init(source: Self, elements: some Collection<Elements.Element>)
}
