public import Diffing
public import ReactiveSignals

extension DataSource {
  /// Derives a collection of the elements that satisfy a predicate with a parameter that may change.
  ///
  ///     let query = Property("")
  ///     let found = todos.filter(by: query) { todo, query in todo.title.contains(query) }
  ///     query.value = "tea"
  ///
  /// A change of the collection is followed like in ``filter(_:)``. A change of the parameter causes at most one
  /// event, which inserts the elements that pass only now, and deletes those that pass no longer. A change of both
  /// in one transaction causes one event.
  ///
  /// - Parameters:
  ///   - parameter: The parameter: a property, or a view of one.
  ///   - effect: A closure that returns the effect that a new value of the parameter can have. If fewer elements can
  ///     pass, only elements that pass are tested again.
  ///   - isIncluded: A closure that is called once for each inserted or updated element, and after a change of the
  ///     parameter, once for each element that it can affect.
  /// - Complexity: O(k log n) for a change of k of n elements, O(n) for a change of the parameter.
  @inlinable
  public func filter<Value>(
    by parameter: some PropertySource<Value>,
    effect: @escaping @Sendable (_ old: Value, _ new: Value) -> FilterEffect = { _, _ in .any },
    _ isIncluded: @escaping @Sendable (Element, Value) -> Bool
  ) -> LiveCollection<Element> {
    LiveCollection { inputs in
      ParameterFilterOperator(
        parameter: inputs.property(parameter), input: inputs.collection(self), effect: effect,
        isIncluded: isIncluded)
    }
  }

  /// Derives a collection of the elements that satisfy a predicate that may change.
  ///
  ///     let isShown = Property<@Sendable (Todo) -> Bool> { _ in true }
  ///     let shown = todos.filter(by: isShown)
  ///     isShown.value = { !$0.isDone }
  ///
  /// - Parameter predicate: The predicate: a property, or a view of one.
  /// - Complexity: O(k log n) for a change of k of n elements, O(n) for a change of the predicate.
  @inlinable
  public func filter(
    by predicate: some PropertySource<@Sendable (Element) -> Bool>
  ) -> LiveCollection<Element> {
    filter(by: predicate) { element, predicate in predicate(element) }
  }
}

/// The effect that a new value of a parameter can have on a filter.
public enum FilterEffect: Sendable {
  /// Other elements may pass.
  case any
  /// Of the elements that pass, fewer may pass. No others do.
  case narrowing
  /// The elements that pass still do. Others may pass, too.
  case widening
}

/// An operator that keeps the elements that satisfy a predicate with a parameter.
@usableFromInline
struct ParameterFilterOperator<Element: Differentiable & Sendable, Value: Sendable>:
  ~Copyable, CollectionOperator
{
  @usableFromInline let parameter: PropertyInput<Value>
  @usableFromInline let effect: @Sendable (Value, Value) -> FilterEffect
  @usableFromInline let isIncluded: @Sendable (Element, Value) -> Bool
  @usableFromInline var value: Value
  /// The filter with this value.
  @usableFromInline var filter: FilterOperator<Element, Element>

  @inlinable
  init(
    parameter: PropertyInput<Value>, input: CollectionInput<Element>,
    effect: @escaping @Sendable (Value, Value) -> FilterEffect,
    isIncluded: @escaping @Sendable (Element, Value) -> Bool
  ) {
    self.parameter = parameter
    self.effect = effect
    self.isIncluded = isIncluded
    value = parameter.value
    filter = FilterOperator(input: input, transform: { $0 })
  }

  @inlinable
  mutating func start(_ output: CollectionDraft<Element>) {
    readParameter()
    filter.start(output)
  }

  @inlinable
  mutating func update(_ output: CollectionDraft<Element>) {
    let old = value
    if parameter.isSet { readParameter() }
    filter.update(output)
    if parameter.isSet { testAgain(effect(old, value), output) }
  }

  @inlinable
  mutating func readParameter() {
    let (isIncluded, value) = (isIncluded, parameter.value)
    self.value = value
    filter.transform = { isIncluded($0, value) ? $0 : nil }
  }

  /// Follows a change of the parameter.
  @inlinable
  mutating func testAgain(_ effect: FilterEffect, _ output: CollectionDraft<Element>) {
    // Reading the output is faster than finding its elements in the input (`PipelineBenchmarks effect`).
    if effect == .narrowing { return testOutput(output) }
    let (elements, passed) = (filter.input.snapshot, filter.passes.array)
    let (isIncluded, value) = (isIncluded, value)
    var (deletions, insertions) = ([Int](), [Int]())
    var arrived: [Element] = []
    var (rank, newRank) = (0, 0)
    var bits: [Bool] = []
    bits.reserveCapacity(elements.count)
    for (element, passed) in zip(elements, passed) {
      let passes = passed && effect == .widening || isIncluded(element, value)
      if passes && !passed {
        insertions.append(newRank)
        arrived.append(element)
      }
      if passed && !passes { deletions.append(rank) }
      if passed { rank += 1 }
      if passes { newRank += 1 }
      bits.append(passes)
    }
    filter.passes = BitTree(count: bits.count) { bits[$0] }
    output.apply(
      valid: Changeset(deletions: deletions, insertions: insertions), inserted: arrived)
  }

  /// Follows a change of the parameter after which fewer elements may pass.
  @inlinable
  mutating func testOutput(_ output: CollectionDraft<Element>) {
    var deletions: [Int] = []
    var rank = 0
    for element in output.snapshot {
      if !isIncluded(element, value) { deletions.append(rank) }
      rank += 1
    }
    if deletions.count > filter.passes.count / 64 {
      let passed = filter.passes.array
      var next = 0
      rank = -1
      filter.passes = BitTree(count: passed.count) { offset in
        if !passed[offset] { return false }
        rank += 1
        guard next < deletions.count, deletions[next] == rank else { return true }
        next += 1
        return false
      }
    } else {
      for rank in deletions.reversed() {
        filter.passes.set(false, at: filter.passes.select(rank))
      }
    }
    output.apply(valid: Changeset(deletions: deletions))
  }
}
