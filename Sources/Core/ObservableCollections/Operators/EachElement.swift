public import Diffing
public import ReactiveSignals

extension DataSource {
  /// Derives a collection of the values of properties, one for each element.
  ///
  ///     let rows = users.map(each: { user in user.isOnline.map { UserRow(user, isOnline: $0) } })
  ///
  /// The property of an element is observed as long as the element is there.
  ///
  /// | in | out |
  /// |---|---|
  /// | insert, delete, move | the same |
  /// | update | update, or nothing if the value is equal; the closure returns the property to follow from now on |
  /// | a property changes | update |
  ///
  /// - Parameter property: A closure that returns a property, or a view of one, whose value is shown. It is called once for
  ///   each inserted or updated element.
  /// - Complexity: O(k log n) for a change of k of n elements or properties.
  @inlinable
  public func map<Property: PropertySource>(
    each property: @escaping @Sendable (Element) -> Property
  ) -> LiveCollection<Property.Value> where Property.Value: Differentiable {
    flattened { element in
      let property = property(element)
      return LiveCollection { ValueOperator(value: $0.property(property)) }
    }
  }

  /// Derives a collection of the elements that have a property whose value is `true`.
  ///
  ///     let online = users.filter(byEach: { $0.isOnline })
  ///
  /// The property of an element is observed as long as the element is there.
  ///
  /// | in | out |
  /// |---|---|
  /// | insert, delete, move, update | as in ``filter(_:)`` |
  /// | a property changes | insert or delete |
  ///
  /// - Parameter property: A closure that returns a property, or a view of one. It is called once for each inserted or
  ///   updated element.
  /// - Complexity: O(k log n) for a change of k of n elements or properties.
  @inlinable
  public func filter(
    byEach property: @escaping @Sendable (Element) -> some PropertySource<Bool>
  ) -> LiveCollection<Element> {
    map(each: { element in
      property(element).readOnly.map { MarkedElement(element, isShown: $0) }
    }).shownElements()
  }

  /// Derives a collection in ascending order of a property of each element.
  ///
  ///     let byActivity = users.sorted(byEach: { $0.lastSeen })
  ///
  /// The property of an element is observed as long as the element is there. Elements with equal values keep the order of
  /// the source.
  ///
  /// | in | out |
  /// |---|---|
  /// | insert, delete, move, update | as in `sorted(by:)` |
  /// | a property changes | a move, or nothing |
  ///
  /// - Parameter property: A closure that returns a property, or a view of one. It is called once for each inserted or
  ///   updated element.
  /// - Complexity: O(k log n) for a change of k of n elements or properties.
  @inlinable
  public func sorted<Property: PropertySource>(
    byEach property: @escaping @Sendable (Element) -> Property
  ) -> LiveCollection<Element> where Property.Value: Comparable {
    map(each: { element in
      property(element).readOnly.map { RankedElement(element: element, rank: $0) }
    }).sorted(by: \.rank).map(\.element)
  }
}

/// An element and the value by which it is sorted.
@usableFromInline
struct RankedElement<Element: Differentiable & Sendable, Rank: Comparable & Sendable>:
  Differentiable, Sendable
{
  @usableFromInline let element: Element
  @usableFromInline let rank: Rank

  @inlinable
  init(element: Element, rank: Rank) {
    (self.element, self.rank) = (element, rank)
  }

  @inlinable var differenceIdentifier: Element.DifferenceIdentifier { element.differenceIdentifier }

  @inlinable
  func isContentEqual(to source: RankedElement) -> Bool {
    rank == source.rank && source.element.hasSameContent(as: element)
  }
}

/// An operator whose only element is the value of a property.
@usableFromInline
struct ValueOperator<Value: Differentiable & Sendable>: CollectionOperator {
  @usableFromInline let value: PropertyInput<Value>

  @inlinable
  init(value: PropertyInput<Value>) {
    self.value = value
  }

  @inlinable
  func start(_ output: CollectionDraft<Value>) { output.append(value.value) }

  @inlinable
  func update(_ output: CollectionDraft<Value>) { output[0] = value.value }
}
