public import Diffing
public import ReactiveSignals

extension DataSource {
  /// Derives a collection of the first elements.
  ///
  /// | in | out |
  /// |---|---|
  /// | insert, delete | insert or delete, and an element leaves or enters at the end; or nothing |
  /// | update | update, or nothing |
  /// | move | move; insert and delete, if an element enters and another leaves; or nothing |
  ///
  /// - Parameter maxLength: The maximum number of elements.
  /// - Complexity: O(k log n) for a change of k of n elements.
  @inlinable
  public func prefix(_ maxLength: Int) -> LiveCollection<Element> {
    checkLength(maxLength)
    return window { count in 0..<min(maxLength, count) }
  }

  /// Derives a collection of the first elements. Their number may change.
  ///
  ///     let limit = Property(20)
  ///     let shown = todos.prefix(limit)
  ///     limit.value += 20
  ///
  /// - Parameter maxLength: The maximum number of elements: a property, or a view of one. A negative number counts
  ///   as 0.
  /// - Complexity: O(k log n) for a change of k of n elements, and O(w + log n) for w elements that enter or leave.
  @inlinable
  public func prefix(_ maxLength: some PropertySource<Int>) -> LiveCollection<Element> {
    window(by: maxLength) { length, count in 0..<min(max(0, length), count) }
  }

  /// Derives a collection of the last elements.
  ///
  /// Changes are followed like in `prefix`, at the other end.
  ///
  /// - Parameter maxLength: The maximum number of elements.
  /// - Complexity: O(k log n) for a change of k of n elements.
  @inlinable
  public func suffix(_ maxLength: Int) -> LiveCollection<Element> {
    checkLength(maxLength)
    return window { count in max(0, count - maxLength)..<count }
  }

  /// Derives a collection of the last elements. Their number may change.
  ///
  /// - Parameter maxLength: The maximum number of elements: a property, or a view of one. A negative number counts
  ///   as 0.
  /// - Complexity: O(k log n) for a change of k of n elements, and O(w + log n) for w elements that enter or leave.
  @inlinable
  public func suffix(_ maxLength: some PropertySource<Int>) -> LiveCollection<Element> {
    window(by: maxLength) { length, count in count - min(max(0, length), count)..<count }
  }

  /// Derives a collection of all elements but the first ones.
  ///
  /// Changes are followed like in `prefix`.
  ///
  /// - Parameter count: The number of elements to leave out.
  /// - Complexity: O(k log n) for a change of k of n elements.
  @inlinable
  public func dropFirst(_ count: Int = 1) -> LiveCollection<Element> {
    checkLength(count)
    return window { total in min(count, total)..<total }
  }

  /// Derives a collection of all elements but the first ones. The number of those may change.
  ///
  /// - Parameter count: The number of elements to leave out: a property, or a view of one. A negative number counts
  ///   as 0.
  /// - Complexity: O(k log n) for a change of k of n elements, and O(w + log n) for w elements that enter or leave.
  @inlinable
  public func dropFirst(_ count: some PropertySource<Int>) -> LiveCollection<Element> {
    window(by: count) { count, total in min(max(0, count), total)..<total }
  }

  /// Derives a collection of the elements in a range of offsets, which may change.
  ///
  ///     let page = Property(0..<20)
  ///     let shown = todos.window(page)
  ///     page.value = 20..<40
  ///
  /// The page keeps its offsets, so rows above it that are inserted or deleted shift it. To make it stay at an
  /// element, use ``window(around:before:after:)``.
  ///
  /// - Parameter range: The range: a property, or a view of one. Offsets beyond the end have no element.
  /// - Complexity: O(k log n) for a change of k of n elements, and O(w + log n) for w elements that enter or leave.
  @inlinable
  public func window(_ range: some PropertySource<Range<Int>>) -> LiveCollection<Element> {
    window(by: range) { range, count in range.clamped(to: 0..<count) }
  }

  /// Derives a collection of the elements in a range that depends on their number and a parameter.
  @inlinable
  func window<Value>(
    by parameter: some PropertySource<Value>,
    _ range: @escaping @Sendable (_ parameter: Value, _ count: Int) -> Range<Int>
  ) -> LiveCollection<Element> {
    LiveCollection { inputs in
      let parameter = inputs.property(parameter)
      return WindowOperator(input: inputs.collection(self)) { range(parameter.value, $0) }
    }
  }

  @inlinable
  func window(_ range: @escaping @Sendable (_ count: Int) -> Range<Int>) -> LiveCollection<Element>
  {
    transformed { WindowOperator(input: $0, range: range) }
  }
}

@usableFromInline
func checkLength(_ length: Int) {
  precondition(length >= 0, "a number of elements must be at least 0, but is \(length)")
}

/// An operator that shows the elements in a range of offsets.
@usableFromInline
struct WindowOperator<Element: Differentiable & Sendable>: CollectionOperator {
  @usableFromInline let input: CollectionInput<Element>
  /// Returns the range for a number of elements, by the newest parameters.
  @usableFromInline let range: @Sendable (_ count: Int) -> Range<Int>
  @usableFromInline var window = 0..<0

  @inlinable
  init(
    input: CollectionInput<Element>, range: @escaping @Sendable (_ count: Int) -> Range<Int>
  ) {
    self.input = input
    self.range = range
  }

  @inlinable
  mutating func start(_ output: CollectionDraft<Element>) {
    window = range(input.snapshot.count)
    output.append(contentsOf: input.snapshot[window])
  }

  @inlinable
  mutating func update(_ output: CollectionDraft<Element>) {
    let (old, elements) = (window, input.snapshot)
    window = range(elements.count)
    output.slide(from: old, to: window, of: elements, input.change?.changeset ?? .empty)
  }
}

extension CollectionDraft {
  /// Edits a draft that shows a range of a list, after the list, the range or both have changed.
  ///
  /// - Parameters:
  ///   - old: The range in the old version of the list.
  ///   - new: The range in the new version.
  ///   - elements: The new version of the list.
  ///   - changeset: The change of the list.
  @inlinable
  func slide(
    from old: Range<Int>, to new: Range<Int>, of elements: Snapshot<Element>, _ changeset: Changeset
  ) {
    let change = changeset.clipped(from: old, to: new)
    if !change.isEmpty { apply(valid: change) { elements[new.lowerBound + $0] } }
  }
}
