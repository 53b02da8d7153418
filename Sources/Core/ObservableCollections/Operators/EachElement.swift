public import Diffing
public import ReactiveSignals

extension DataSource {
  /// Derives a collection of elements that are made from an element and the value of a property of it.
  ///
  ///     let rows = users.map(each: \.isOnline) { user, isOnline in UserRow(user, isOnline: isOnline) }
  ///
  /// The property of an element is observed as long as the element is there. The result has a domain of its own.
  ///
  /// | in | out |
  /// |---|---|
  /// | insert, delete, move | the same |
  /// | update | update, or nothing if the result is equal; another property is followed from now on |
  /// | a property changes | update, or nothing if the result is equal |
  /// | a transaction over elements and properties | one event; an element that gets a property by it may follow with another one |
  ///
  /// A property that is made from the result is not followed, and the status is an error with the code `cycle`.
  ///
  /// - Parameters:
  ///   - property: A key path or closure that returns a property of an element, or a view of one. It is called once for
  ///     each inserted or updated element.
  ///   - transform: A closure that receives an element and the value of its property. It is called for each of them that
  ///     changes.
  /// - Complexity: O(k log n) for a change of k of n elements or properties. After an element has got a property, the first
  ///   transaction over several lists or properties takes O(n).
  @inlinable
  public func map<Property: PropertySource, Output: Differentiable & Sendable>(
    each property: @escaping @Sendable (Element) -> Property,
    _ transform: @escaping @Sendable (_ element: Element, _ value: Property.Value) -> Output
  ) -> LiveCollection<Output> {
    let inputs = OperatorInputs()
    let each = EachOperator(
      elements: FollowedSource(self), input: inputs.externalInputs(),
      property: { property($0).readOnly }, transform: transform)
    inputs.addStatus { each.status }
    let (node, upstream) = inputs.collection(by: each)
    return LiveCollection(node, upstream: upstream)
  }

  /// Derives a collection of the elements that have a property whose value is `true`.
  ///
  ///     let online = users.filter(byEach: \.isOnline)
  ///
  /// The property of an element is observed as long as the element is there. The result has a domain of its own.
  ///
  /// | in | out |
  /// |---|---|
  /// | insert, delete, move, update | as in ``filter(_:)`` |
  /// | a property changes | insert or delete |
  ///
  /// - Parameter property: A key path or closure that returns a property of an element, or a view of one. It is called once
  ///   for each inserted or updated element.
  /// - Complexity: O(k log n) for a change of k of n elements or properties.
  @inlinable
  public func filter(
    byEach property: @escaping @Sendable (Element) -> some PropertySource<Bool>
  ) -> LiveCollection<Element> {
    filter(byEach: property) { $1 }
  }

  /// Derives a collection of the elements for whose properties a predicate is true.
  ///
  ///     let empty = devices.filter(byEach: \.battery) { device, level in level < device.limit }
  ///
  /// This is the filter of ``filter(byEach:)`` for a property of any type.
  ///
  /// - Parameters:
  ///   - property: A key path or closure that returns a property of an element, or a view of one.
  ///   - isIncluded: A closure that receives an element and the value of its property.
  /// - Complexity: O(k log n) for a change of k of n elements or properties.
  @inlinable
  public func filter<Property: PropertySource>(
    byEach property: @escaping @Sendable (Element) -> Property,
    _ isIncluded: @escaping @Sendable (_ element: Element, _ value: Property.Value) -> Bool
  ) -> LiveCollection<Element> {
    map(each: property) { MarkedElement($0, isShown: isIncluded($0, $1)) }.shownElements()
  }

  /// Derives a collection in ascending order of a property of each element.
  ///
  ///     let byActivity = users.sorted(byEach: \.lastSeen)
  ///
  /// The property of an element is observed as long as the element is there. Elements with equal values keep the order of
  /// the source. The result has a domain of its own.
  ///
  /// | in | out |
  /// |---|---|
  /// | insert, delete, move, update | as in `sorted(by:)` |
  /// | a property changes | a move, or nothing |
  ///
  /// - Parameter property: A key path or closure that returns a property of an element, or a view of one. It is called once
  ///   for each inserted or updated element.
  /// - Complexity: O(k log n) for a change of k of n elements or properties.
  @inlinable
  public func sorted<Property: PropertySource>(
    byEach property: @escaping @Sendable (Element) -> Property
  ) -> LiveCollection<Element> where Property.Value: Comparable {
    map(each: property) { RankedElement(element: $0, rank: $1) }.sorted(by: \.rank).map(\.element)
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

/// An operator over a list and a property of each of its elements.
@usableFromInline
final class EachOperator<
  Element: Differentiable & Sendable, Value: Sendable, Output: Differentiable & Sendable
>: CollectionOperator, @unchecked Sendable {
  // A class, because the status of the output is read from it.
  // Sendable: the engine calls an operator, and reads the status, on one thread at a time.

  @usableFromInline let elements: FollowedSource<Element>
  @usableFromInline let input: NodeInput
  @usableFromInline let property: @Sendable (Element) -> ReadOnlyProperty<Value>
  @usableFromInline let transform: @Sendable (Element, Value) -> Output
  @exclusivity(unchecked) @usableFromInline var rows = InputRows<FollowedProperty<Value>>()
  /// The number of properties that are made from the output.
  @exclusivity(unchecked) @usableFromInline var cycles = 0

  @inlinable
  init(
    elements: FollowedSource<Element>, input: NodeInput,
    property: @escaping @Sendable (Element) -> ReadOnlyProperty<Value>,
    transform: @escaping @Sendable (Element, Value) -> Output
  ) {
    (self.elements, self.input, self.property, self.transform) = (
      elements, input, property, transform
    )
  }

  @usableFromInline var status: OperatorStatus {
    let state = elements.state
    if cycles == 0 { return (state.status, state.hasLoaded) }
    let error = SourceError(
      code: "cycle",
      message:
        "a property is made from the list that would follow it, so its changes are not shown. "
        + "Return a property that does not depend on the result.")
    return (state.status.worse(.failed(error)), state.hasLoaded)
  }

  @inlinable
  func start(_ output: CollectionDraft<Output>) {
    // Here, because updates are recorded from now on.
    guard elements.follow(through: input.node) else {
      preconditionFailure("a new list is upstream of its own source")
    }
    let contents = elements.state.snapshot
    rows = InputRows(contents.map { follow($0) })
    number()
    output.append(
      contentsOf: zip(contents, rows.order.rows).map { transform($0, rows[$1].value) })
  }

  @inlinable
  func update(_ output: CollectionDraft<Output>) {
    guard let update = input.update else { return }
    var change: CollectionChange<Element>?
    // First the properties, at their places before the change of the elements.
    for (source, update) in FollowedUpdates.read(update).items {
      if source === elements {
        guard let update = update.resolved() else { continue }
        change = CollectionUpdate<Element>.read(update).change
        elements.state = CollectionUpdate<Element>.read(update).box.state
        continue
      }
      let property = unsafeDowncast(source, to: FollowedProperty<Value>.self)
      // Otherwise, the property was left.
      guard let row = property.row else { continue }
      property.value = SignalValue<Value>.read(update)
      let offset = rows.order.offset(of: row)
      output[offset] = transform(
        (change?.before ?? elements.state.snapshot)[offset], property.value)
    }
    if let change { follow(change, output) }
  }

  @inlinable
  func follow(_ change: CollectionChange<Element>, _ output: CollectionDraft<Output>) {
    let (changeset, after) = (change.changeset, change.after)
    var left = changeset.deletions.map { rows[rows.order[$0]] }
    rows.follow(changeset) { follow(after[$0]) }
    for offset in changeset.insertions {
      let row = rows.order[offset]
      rows[row].row = row
    }
    for update in changeset.updates {
      let row = rows.order[update.to]
      let (old, new) = (rows[row], property(after[update.to]))
      if old.property.signal.node === new.signal.node {
        // A view may be another one over the same node.
        old.property = new
      } else {
        left.append(old)
        rows[row] = follow(new)
        rows[row].row = row
      }
    }
    output.apply(valid: changeset) { transform(after[$0], rows[rows.order[$0]].value) }
    // Last: a property that another element has as well is observed without a break.
    for property in left {
      if property.isCycle { cycles -= 1 }
      property.leave(input.node)
    }
    if rows.renumberIfSparse() != nil { number() }
  }

  @inlinable
  func number() { for row in rows.order.rows { rows[row].row = row } }

  @inlinable
  func follow(_ element: Element) -> FollowedProperty<Value> { follow(property(element)) }

  @usableFromInline
  func follow(_ property: ReadOnlyProperty<Value>) -> FollowedProperty<Value> {
    let followed = FollowedProperty(property, through: input.node)
    if followed.isCycle { cycles += 1 }
    return followed
  }
}

/// A property of an element that an operator follows.
@usableFromInline
final class FollowedProperty<Value: Sendable>: @unchecked Sendable {
  // Sendable: the creator of the operator, and its delivering thread from then on, own all variables.

  @exclusivity(unchecked) @usableFromInline var property: ReadOnlyProperty<Value>
  /// The value that the operator has followed so far.
  @exclusivity(unchecked) @usableFromInline var value: Value
  /// The row of the element, or `nil` after the property was left.
  @exclusivity(unchecked) @usableFromInline var row: UInt32?
  private var observation: Disposable?
  /// A Boolean value that indicates whether the property is made from the output, so it is not followed.
  @usableFromInline private(set) var isCycle = false

  /// Observes a property, unless it is made from the operator.
  init(_ property: ReadOnlyProperty<Value>, through root: Node) {
    (self.property, value) = (property, property.newest)
    let node = property.signal.node
    guard DependencyGraph.connect(root, to: node) else {
      isCycle = true
      return
    }
    node.start()
    let (first, observation) = node.observeAsBoundary { [weak self, weak root] event, tickets in
      guard let self, let root else { return }
      let update = unsafeDowncast(event, to: SignalValue<Value>.self)
      root.send(FollowedUpdates(of: self, update), tickets: tickets, isFollowing: true)
    }
    if let first { value = SignalValue<Value>.read(first) }
    self.observation = observation
  }

  /// Ends the observation. Updates that are pending are ignored.
  @usableFromInline
  func leave(_ root: Node) {
    row = nil
    guard !isCycle else { return }
    observation?.dispose()
    observation = nil
    DependencyGraph.disconnect(root, from: property.signal.node)
  }
}
