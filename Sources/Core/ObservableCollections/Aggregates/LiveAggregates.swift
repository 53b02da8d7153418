public import Diffing
public import ReactiveSignals

extension DataSource {
  /// The aggregates of this collection, such as the number of elements, as properties that follow it.
  ///
  ///     let open = todos.filter { !$0.isDone }.live.count
  ///     let observation = open.observe { print("\($0) left") }
  ///
  /// By contrast, ``count`` and ``isEmpty`` of the collection itself are values of one moment.
  @inlinable public var live: LiveAggregates<Element> { LiveAggregates(self) }
}

extension DataSource where Element.DifferenceIdentifier: Sendable {
  /// Aggregates of the elements up to one of them.
  ///
  ///     let balance = bookings.live(upTo: booking.id).sum(of: \.amount)
  ///     let position = bookings.live(upTo: booking.id).count
  ///
  /// If no element has the identity, the aggregates are those of an empty collection.
  ///
  /// - Parameter identity: The identity of the last element that counts. If several elements have it, it is the one that
  ///   was found first, as long as it is there.
  /// - Complexity: O(k log n) for a change of k of n elements, and O(w log n) if the element moves by w elements.
  @inlinable
  public func live(upTo identity: Element.DifferenceIdentifier) -> LiveAggregates<Element> {
    live(upTo: Property(Optional(identity)))
  }

  /// Aggregates of the elements up to one of them, which may change.
  ///
  /// - Parameter identity: The identity of the last element that counts: a property, or a view of one.
  /// - Complexity: O(k log n) for a change of k of n elements, and O(w log n) for w elements that enter or leave.
  @inlinable
  public func live(
    upTo identity: some PropertySource<Element.DifferenceIdentifier?>
  ) -> LiveAggregates<Element> {
    LiveAggregates(
      LiveCollection { inputs in
        AnchoredWindowOperator(
          input: inputs.collection(self), identifier: inputs.property(identity), before: .max,
          after: 0, needsAnchor: true)
      })
  }
}

/// The aggregates of a collection as properties that follow it.
///
/// Get an instance from ``DataSource/live``. Each property of an aggregate is in the domain of the
/// collection: a transaction sends at most one value, after all derived collections and aggregates are up
/// to date. A value that equals the previous one is not sent.
///
///     let orders = ArrayDataSource<Order>()
///     let total = orders.live.sum(of: \.amount)
///     let observation = total.observe { print($0) }  // 0
///     orders.append(Order(id: 1, amount: 20))        // 20
///
/// Keep the property, and read it when you need the value. Each access to an aggregate creates a new
/// property, which computes the value of all elements again. A property keeps the collection alive.
///
/// A property has no status. A collection that has not loaded has the same aggregates as an empty one:
/// the count and the sum are zero, and the average, the minimum and the first element are `nil`. To
/// distinguish the two, observe the status of the collection.
public struct LiveAggregates<Element: Differentiable & Sendable>: Sendable {
  @usableFromInline let source: any DataSource<Element>

  @inlinable
  init(_ source: any DataSource<Element>) {
    self.source = source
  }

  /// The number of elements.
  ///
  /// - Complexity: O(1) for each change.
  @inlinable public var count: ReadOnlyProperty<Int> {
    derived({ $0.count }, areEqual: ==)
  }

  /// A Boolean value that indicates whether there are no elements.
  ///
  /// - Complexity: O(1) for each change.
  @inlinable public var isEmpty: ReadOnlyProperty<Bool> {
    derived({ $0.isEmpty }, areEqual: ==)
  }

  /// The first element, or `nil` if there is none.
  ///
  /// A value is sent if the identity or the content of the first element has changed.
  ///
  /// - Complexity: O(log n) for each change.
  @inlinable public var first: ReadOnlyProperty<Element?> {
    derived({ $0.first }, areEqual: Self.areSame)
  }

  /// The last element, or `nil` if there is none.
  ///
  /// A value is sent if the identity or the content of the last element has changed.
  ///
  /// - Complexity: O(log n) for each change.
  @inlinable public var last: ReadOnlyProperty<Element?> {
    derived({ $0.last }, areEqual: Self.areSame)
  }

  /// Returns the number of elements that satisfy a predicate.
  ///
  ///     let open = todos.live.count { !$0.isDone }
  ///
  /// - Parameter isIncluded: A closure that is called once for each inserted or updated element.
  /// - Complexity: O(log n) for each changed element.
  @inlinable
  public func count(
    where isIncluded: @escaping @Sendable (Element) -> Bool
  ) -> ReadOnlyProperty<Int> {
    aggregate(empty: 0, value: { isIncluded($0) ? 1 : 0 }, combine: { $0 + $1 })
  }

  /// Returns a Boolean value that indicates whether at least one element satisfies a predicate.
  ///
  ///     let isUrgent = todos.live.contains { $0.priority > 8 }
  ///
  /// - Parameter predicate: A closure that is called once for each inserted or updated element.
  /// - Complexity: O(log n) for each changed element.
  @inlinable
  public func contains(
    where predicate: @escaping @Sendable (Element) -> Bool
  ) -> ReadOnlyProperty<Bool> {
    aggregate(empty: false, value: predicate, combine: { $0 || $1 })
  }

  /// Returns a Boolean value that indicates whether all elements satisfy a predicate.
  ///
  ///     let isDone = todos.live.allSatisfy(\.isDone)
  ///
  /// The value is `true` if there are no elements.
  ///
  /// - Parameter predicate: A closure that is called once for each inserted or updated element.
  /// - Complexity: O(log n) for each changed element.
  @inlinable
  public func allSatisfy(
    _ predicate: @escaping @Sendable (Element) -> Bool
  ) -> ReadOnlyProperty<Bool> {
    aggregate(empty: true, value: predicate, combine: { $0 && $1 })
  }

  /// Combines the values of all elements, in the order of the collection.
  ///
  ///     let names = people.live.aggregate(empty: "", value: \.name) { $0 + $1 }
  ///
  /// The property keeps the value of each element, and combines again only the values around a
  /// changed element. `combine` must be associative: `combine(combine(a, b), c)` equals
  /// `combine(a, combine(b, c))`. It need not be commutative.
  ///
  /// - Parameters:
  ///   - empty: The value without elements. It is not passed to `combine`.
  ///   - value: A closure that returns the value of an element. It is called once for each inserted or
  ///     updated element.
  ///   - combine: A closure that combines the values of two adjacent parts of the collection.
  /// - Complexity: O(log n) calls of `combine` for each changed element.
  @inlinable
  public func aggregate<Value: Equatable & Sendable>(
    empty: Value, value: @escaping @Sendable (Element) -> Value,
    combine: @escaping @Sendable (Value, Value) -> Value
  ) -> ReadOnlyProperty<Value> {
    summary(
      empty: empty, value, combine, result: { parts, _ in parts.total },
      areEqual: { $0 == $1 || ($0 != $0 && $1 != $1) })
  }

  /// Combines the values of all elements, in the order of the collection.
  ///
  /// Values of this type cannot be compared. Each change of the collection therefore sends a value.
  /// Otherwise, this method does the same as the method for equatable values.
  ///
  /// - Parameters:
  ///   - empty: The value without elements. It is not passed to `combine`.
  ///   - value: A closure that returns the value of an element. It is called once for each inserted or
  ///     updated element.
  ///   - combine: A closure that combines the values of two adjacent parts of the collection.
  /// - Complexity: O(log n) calls of `combine` for each changed element.
  @inlinable
  public func aggregate<Value: Sendable>(
    empty: Value, value: @escaping @Sendable (Element) -> Value,
    combine: @escaping @Sendable (Value, Value) -> Value
  ) -> ReadOnlyProperty<Value> {
    summary(
      empty: empty, value, combine, result: { parts, _ in parts.total },
      areEqual: { _, _ in false })
  }
}

extension LiveAggregates {
  /// Derives a property that is computed from the contents alone.
  @inlinable
  func derived<Value: Sendable>(
    _ read: @escaping @Sendable (Snapshot<Element>) -> Value,
    areEqual: @escaping @Sendable (Value, Value) -> Bool
  ) -> ReadOnlyProperty<Value> {
    ReadOnlyProperty { inputs in
      SnapshotOperator(input: inputs.collection(source), read: read, areValuesEqual: areEqual)
    }
  }

  /// Derives a property from the combined parts of all elements.
  ///
  /// - Parameters:
  ///   - empty: The part without elements.
  ///   - part: A closure that returns the part of an element.
  ///   - combine: A closure that combines two adjacent parts.
  ///   - result: A closure that returns the value, from the combined parts and the contents.
  ///   - areEqual: A closure that returns whether two values are equal.
  @inlinable
  func summary<Part: Sendable, Value: Sendable>(
    empty: Part, _ part: @escaping @Sendable (Element) -> Part,
    _ combine: @escaping @Sendable (Part, Part) -> Part,
    result: @escaping @Sendable (borrowing SummaryTree<Part>, Snapshot<Element>) -> Value,
    areEqual: @escaping @Sendable (Value, Value) -> Bool
  ) -> ReadOnlyProperty<Value> {
    ReadOnlyProperty { inputs in
      SummaryOperator(
        input: inputs.collection(source), part: part,
        parts: SummaryTree([], empty: empty, combine: combine), result: result,
        areValuesEqual: areEqual)
    }
  }

  /// Returns whether two elements have the same identity and content, or both are missing.
  @inlinable
  static func areSame(_ one: Element?, _ other: Element?) -> Bool { one.isSame(as: other) }
}

/// An aggregate that is computed from the contents alone.
@usableFromInline
struct SnapshotOperator<Element: Differentiable & Sendable, Value: Sendable>: PropertyOperator {
  @usableFromInline let input: CollectionInput<Element>
  @usableFromInline let read: @Sendable (Snapshot<Element>) -> Value
  @usableFromInline let areValuesEqual: @Sendable (Value, Value) -> Bool

  @inlinable
  init(
    input: CollectionInput<Element>, read: @escaping @Sendable (Snapshot<Element>) -> Value,
    areValuesEqual: @escaping @Sendable (Value, Value) -> Bool
  ) {
    self.input = input
    self.read = read
    self.areValuesEqual = areValuesEqual
  }

  @inlinable
  func start() -> Value { read(input.snapshot) }

  @inlinable
  func update() -> Value { read(input.snapshot) }

  @inlinable
  func areEqual(_ old: Value, _ new: Value) -> Bool { areValuesEqual(old, new) }
}

/// An aggregate that combines a value of each element.
@usableFromInline
struct SummaryOperator<Element: Differentiable & Sendable, Part: Sendable, Value: Sendable>:
  ~Copyable, PropertyOperator
{
  @usableFromInline let input: CollectionInput<Element>
  @usableFromInline let part: @Sendable (Element) -> Part
  @usableFromInline var parts: SummaryTree<Part>
  @usableFromInline let result: @Sendable (borrowing SummaryTree<Part>, Snapshot<Element>) -> Value
  @usableFromInline let areValuesEqual: @Sendable (Value, Value) -> Bool

  @inlinable
  init(
    input: CollectionInput<Element>, part: @escaping @Sendable (Element) -> Part,
    parts: consuming SummaryTree<Part>,
    result: @escaping @Sendable (borrowing SummaryTree<Part>, Snapshot<Element>) -> Value,
    areValuesEqual: @escaping @Sendable (Value, Value) -> Bool
  ) {
    self.input = input
    self.part = part
    self.parts = parts
    self.result = result
    self.areValuesEqual = areValuesEqual
  }

  @inlinable
  mutating func start() -> Value {
    parts.replaceAll(with: input.snapshot.map(part))
    return result(parts, input.snapshot)
  }

  @inlinable
  mutating func update() -> Value {
    if let change = input.change {
      let after = change.after
      parts.follow(change.changeset, { part(after[$0]) })
    }
    return result(parts, input.snapshot)
  }

  @inlinable
  func areEqual(_ old: Value, _ new: Value) -> Bool { areValuesEqual(old, new) }
}
