public import Diffing
public import ReactiveSignals

extension DataSource {
  /// Derives a row for each key: the totals of the elements with that key.
  ///
  ///     let byCountry = orders.aggregated(by: \.country) { group in
  ///       ReadOnlyProperty(combining: group.live.sum(of: \.total), group.live.count) { total, count in
  ///         CountryRow(country: group.key, total: total, count: count)
  ///       }
  ///     }
  ///     let largest = byCountry.sorted(by: .descending(\.total)).prefix(10)
  ///
  /// | in | out |
  /// |---|---|
  /// | insert, delete, update | update of the rows of its keys, or nothing if they are equal; insert or delete of a row with the first or last element of its key |
  /// | move | nothing, or a move of its row if that is now before or after another one |
  ///
  /// - Parameters:
  ///   - key: A key path or closure that returns the key of an element. It is called once for each inserted or updated
  ///     element.
  ///   - order: The order of the rows by their keys. By default, rows have the order of their first elements.
  ///   - row: A closure that returns a property whose value is the row of a group. It is called once for each key.
  /// - Complexity: O(k log n) for a change of k of n elements.
  @inlinable
  public func aggregated<Key: Hashable & Sendable, Row: PropertySource>(
    by key: @escaping @Sendable (Element) -> Key, order: ElementOrder<Key>? = nil,
    _ row: @escaping @Sendable (LiveIndex<Key, Element>.Group) -> Row
  ) -> LiveCollection<Row.Value> where Row.Value: Differentiable {
    grouped(by: key, order: order).map { StableGroup(group: $0) }
      .map(each: { row($0.group) }) { $1 }
  }
}

extension LiveIndex.Group {
  /// The aggregates of the elements.
  @inlinable public var live: LiveAggregates<Element> { elements.live }
}

/// A group that does not change with the number of its elements.
@usableFromInline
struct StableGroup<Key: Hashable & Sendable, Element: Differentiable & Sendable>: Differentiable,
  Sendable
{
  @usableFromInline let group: LiveIndex<Key, Element>.Group

  @inlinable
  init(group: LiveIndex<Key, Element>.Group) {
    self.group = group
  }

  @inlinable var differenceIdentifier: Key { group.key }

  @inlinable
  func isContentEqual(to source: StableGroup) -> Bool { true }
}
