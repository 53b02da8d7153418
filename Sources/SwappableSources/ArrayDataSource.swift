public import Diffing
public import ObservableCollections

/// A data source over an array in memory.
///
///     let source = ArrayDataSource(["Ada", "Grace"])
///     source.append("Edsger")
///     source.replace(with: ["Grace", "Ada"])   // one move
///
/// Edits tell exactly what was done; `replace(with:)` finds out what differs.
public final class ArrayDataSource<Element: Differentiable & Sendable>: EditableDataSource {
  public let property: CollectionProperty<Element>

  /// Makes a data source.
  ///
  /// - Parameter elements: What it holds at first.
  public init(_ elements: some Sequence<Element>) {
    property = CollectionProperty(elements)
  }

  /// Makes an empty data source.
  public init() {
    property = CollectionProperty()
  }
}
