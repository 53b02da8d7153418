public import Diffing
public import ObservableCollections

/// A data source that holds its elements in memory.
///
///     let source = ArrayDataSource(["Ada", "Grace"])
///     source.append("Edsger")
///     source.replace(with: ["Grace", "Ada"])   // one move
///
/// A change of this source consists of the edits that you make. `replace(with:)` computes the
/// difference from the old elements.
public final class ArrayDataSource<Element: Differentiable & Sendable>: EditableDataSource {
  public let property: CollectionProperty<Element>

  /// Creates a data source.
  ///
  /// - Parameter elements: The first elements.
  public init(_ elements: some Sequence<Element>) {
    property = CollectionProperty(elements)
  }

  /// Creates an empty data source.
  public init() {
    property = CollectionProperty()
  }
}
