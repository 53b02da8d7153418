public import Diffing
public import ReactiveSignals

// The numbers of elements are remembered, at about 12 bytes an element for numbers of 8 bytes. A number
// that leaves the sum is then exactly the number that entered it, even if the closure would now return
// another one, and the closure is not called again for the old element.

extension LiveAggregates {
  /// Returns the sum of a number of each element. It is zero if there are no elements.
  ///
  ///     let pieces = items.live.sum(of: \.quantity)
  ///
  /// The sum is exact. If it is out of the range of the type, the value is the nearest number of the type,
  /// `max` or `min`. It is exact again as soon as the sum is in the range.
  ///
  /// - Parameter number: A closure that returns the number of an element. It is called once for each
  ///   inserted or updated element.
  /// - Complexity: O(log n) for each changed element.
  @inlinable
  public func sum<Number: FixedWidthInteger & Sendable>(
    of number: @escaping @Sendable (Element) -> Number
  ) -> ReadOnlyProperty<Number> {
    sum(of: number, in: IntegerSum<Number>()) { sum, _ in sum.sum }
  }

  /// Returns the sum of a number of each element. It is zero if there are no elements.
  ///
  ///     let total = orders.live.sum(of: \.price)
  ///
  /// The value is the exact sum of all numbers, rounded once to the nearest number of the type. It
  /// depends only on the numbers, and never on their order or on earlier changes. The rules of IEEE 754
  /// apply otherwise: the sum is NaN if a number is NaN, or if infinities of both signs are among the
  /// numbers, and it is infinite if it is out of the range of the type. A sum of zero is positive zero.
  ///
  /// - Parameter number: A closure that returns the number of an element. It is called once for each
  ///   inserted or updated element.
  /// - Complexity: O(log n) for each changed element.
  @inlinable
  public func sum<Number: BinaryFloatingPoint & Sendable>(
    of number: @escaping @Sendable (Element) -> Number
  ) -> ReadOnlyProperty<Number> {
    sum(of: number, in: FloatingPointSum<Number>()) { sum, _ in sum.sum }
  }

  /// Returns the average of an integer of each element, or `nil` if there are no elements.
  ///
  /// The value is the exact sum, divided by the number of elements, and rounded once. It is never
  /// out of range.
  ///
  /// - Parameter number: A closure that returns the number of an element. It is called once for each
  ///   inserted or updated element.
  /// - Complexity: O(log n) for each changed element.
  @inlinable
  public func average<Number: FixedWidthInteger & Sendable>(
    of number: @escaping @Sendable (Element) -> Number
  ) -> ReadOnlyProperty<Double?> {
    sum(of: number, in: IntegerSum<Number>()) { sum, count in
      count == 0 ? nil : sum.average(of: count)
    }
  }

  /// Returns the average of a number of each element, or `nil` if there are no elements.
  ///
  ///     let price = orders.live.average(of: \.price)
  ///
  /// The value is the exact sum, divided by the number of elements, and rounded once. It is out of range
  /// for no finite numbers. NaN and infinities have the same effect as in a sum.
  ///
  /// - Parameter number: A closure that returns the number of an element. It is called once for each
  ///   inserted or updated element.
  /// - Complexity: O(log n) for each changed element.
  @inlinable
  public func average<Number: BinaryFloatingPoint & Sendable>(
    of number: @escaping @Sendable (Element) -> Number
  ) -> ReadOnlyProperty<Number?> {
    sum(of: number, in: FloatingPointSum<Number>()) { sum, count in
      count == 0 ? nil : sum.average(of: count)
    }
  }

  @inlinable
  func sum<Accumulator: ExactAccumulator, Value: Equatable & Sendable>(
    of number: @escaping @Sendable (Element) -> Accumulator.Number, in sum: Accumulator,
    result: @escaping @Sendable (_ sum: Accumulator, _ count: Int) -> Value
  ) -> ReadOnlyProperty<Value> {
    ReadOnlyProperty { inputs in
      SumOperator(
        input: inputs.collection(source), number: number, sum: sum, result: result)
    }
  }
}

/// An aggregate that adds up a number of each element.
@usableFromInline
struct SumOperator<
  Element: Differentiable & Sendable, Accumulator: ExactAccumulator, Value: Equatable & Sendable
>: ~Copyable, PropertyOperator {
  @usableFromInline typealias Number = Accumulator.Number

  @usableFromInline let input: CollectionInput<Element>
  @usableFromInline let number: @Sendable (Element) -> Number
  @usableFromInline let result: @Sendable (_ sum: Accumulator, _ count: Int) -> Value
  @usableFromInline var sum: Accumulator
  /// The numbers of the elements. Their combination is not used.
  @usableFromInline var numbers: SummaryTree<Number>

  @inlinable
  init(
    input: CollectionInput<Element>, number: @escaping @Sendable (Element) -> Number,
    sum: Accumulator, result: @escaping @Sendable (_ sum: Accumulator, _ count: Int) -> Value
  ) {
    self.input = input
    self.number = number
    self.sum = sum
    self.result = result
    numbers = SummaryTree([], empty: sum.sum) { first, _ in first }
  }

  @inlinable
  mutating func start() -> Value {
    let all = input.snapshot.map(number)
    for number in all { sum.add(number) }
    numbers.replaceAll(with: all)
    return result(sum, numbers.count)
  }

  @inlinable
  mutating func update() -> Value {
    if let change = input.change {
      let after = change.after
      numbers.follow(
        change.changeset, { number(after[$0]) }, removed: { sum.subtract($0) },
        added: { sum.add($0) })
    }
    return result(sum, numbers.count)
  }
}
