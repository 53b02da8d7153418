public import Diffing

extension DataSource {
  /// Derives a collection in which each identity occurs once: the first element of each identity.
  ///
  /// These lines give the same result:
  ///
  ///     var seen: Set<Element.DifferenceIdentifier> = []
  ///     Array(source).filter { seen.insert($0.differenceIdentifier).inserted }
  ///
  /// | in | out |
  /// |---|---|
  /// | insert | insert; update and move to the new place if it is the first of its identity; or nothing |
  /// | delete | delete; update and move to the place of the next one of its identity; or nothing |
  /// | update | update, or nothing if it is not the first of its identity |
  /// | move | move, possibly with an update, or nothing |
  ///
  /// - Complexity: O(k log n) for a change of k of n elements.
  @inlinable
  public func distinct() -> LiveCollection<Element> {
    transformed {
      SetOperator(inputs: [$0], operation: .distinct, key: { $0.differenceIdentifier })
    }
  }

  /// Derives a collection of the first element of each key.
  ///
  ///     let newestOfEachAuthor = posts.sorted(by: .descending(\.date)).distinct(by: \.author)
  ///
  /// These lines give the same result:
  ///
  ///     var seen: Set<Key> = []
  ///     Array(source).filter { seen.insert(key($0)).inserted }
  ///
  /// | in | out |
  /// |---|---|
  /// | insert | insert; insert and delete of the element that was the first of its key; or nothing |
  /// | delete | delete; delete and insert of the next element of its key; or nothing |
  /// | update | update if it is the first of its key before and after, insert, delete or nothing if not; if its key changes, also insert of the next element of its old key, and delete of the element that was the first of its new key |
  /// | move | move; delete and insert if another element becomes the first of its key; or nothing |
  ///
  /// A key that is not equal to itself, such as a NaN, is different from all others.
  ///
  /// - Parameter key: A key path or closure that returns the key of an element. It is called once for each inserted or
  ///   updated element.
  /// - Complexity: O(k log n) for a change of k of n elements.
  @inlinable
  public func distinct<Key: Hashable & SendableMetatype>(
    by key: @escaping @Sendable (Element) -> Key
  ) -> LiveCollection<Element> {
    transformed { SetOperator(inputs: [$0], operation: .distinct, key: key) }
  }

  /// Derives a collection of the elements of this collection, followed by those that only another one contains.
  ///
  /// Elements with the same identity are the same element. If an identity occurs several times, it occurs as often as in the collection that has more of it. These lines
  /// give the same result:
  ///
  ///     var counts = Dictionary(Array(source).map { ($0.differenceIdentifier, 1) }, uniquingKeysWith: +)
  ///     Array(source) + Array(other).filter { element in
  ///       counts[element.differenceIdentifier, default: 0] -= 1
  ///       return counts[element.differenceIdentifier, default: 0] < 0
  ///     }
  ///
  /// | in | out |
  /// |---|---|
  /// | insert | insert; move and update if it replaces an element of the other collection; or nothing |
  /// | delete | delete; move and update if an element of the other collection replaces it; or nothing |
  /// | update, move | the same, or nothing |
  ///
  /// The result has loaded once each collection has loaded or failed, and at least one has loaded.
  ///
  /// - Parameter other: The other collection.
  /// - Complexity: O(k log n) for a change of k of n elements.
  @inlinable
  public func union(_ other: some DataSource<Element>) -> LiveCollection<Element> {
    combined(with: other, .union)
  }

  /// Derives a collection of the elements whose identities another collection contains, too.
  ///
  /// If an identity occurs several times, it occurs as often as in the collection that has less of it. All elements come
  /// from this collection, in its order. These lines give the same result:
  ///
  ///     var counts = Dictionary(Array(other).map { ($0.differenceIdentifier, 1) }, uniquingKeysWith: +)
  ///     Array(source).filter { element in
  ///       counts[element.differenceIdentifier, default: 0] -= 1
  ///       return counts[element.differenceIdentifier, default: 0] >= 0
  ///     }
  ///
  /// | in | out |
  /// |---|---|
  /// | insert, delete, update, move in this collection | the same, or nothing |
  /// | insert in the other collection | insert, or nothing |
  /// | delete in the other collection | delete, or nothing |
  /// | update, move in the other collection | nothing |
  ///
  /// The result has loaded once both collections have.
  ///
  /// - Parameter other: The other collection.
  /// - Complexity: O(k log n) for a change of k of n elements.
  @inlinable
  public func intersection(_ other: some DataSource<Element>) -> LiveCollection<Element> {
    combined(with: other, .intersection)
  }

  /// Derives a collection of the elements whose identities another collection does not contain.
  ///
  /// If an identity occurs several times, the result has the first elements of it: as many as this collection has more
  /// than the other one. These lines give the same result:
  ///
  ///     var counts = Dictionary(Array(source).map { ($0.differenceIdentifier, 1) }, uniquingKeysWith: +)
  ///     for element in Array(other) { counts[element.differenceIdentifier, default: 0] -= 1 }
  ///     Array(source).filter { element in
  ///       counts[element.differenceIdentifier, default: 0] -= 1
  ///       return counts[element.differenceIdentifier, default: 0] >= 0
  ///     }
  ///
  /// | in | out |
  /// |---|---|
  /// | insert, delete, update, move in this collection | the same, or nothing |
  /// | insert in the other collection | delete, or nothing |
  /// | delete in the other collection | insert, or nothing |
  /// | update, move in the other collection | nothing |
  ///
  /// The result has loaded once both collections have.
  ///
  /// - Parameter other: The other collection.
  /// - Complexity: O(k log n) for a change of k of n elements.
  @inlinable
  public func subtracting(_ other: some DataSource<Element>) -> LiveCollection<Element> {
    combined(with: other, .subtraction)
  }

  @inlinable
  func combined(
    with other: some DataSource<Element>, _ operation: SetOperation
  ) -> LiveCollection<Element> {
    LiveCollection { inputs in
      let isRequired = operation != .union
      return SetOperator(
        inputs: [
          inputs.collection(self, isRequired: isRequired),
          inputs.collection(other, isRequired: isRequired),
        ], operation: operation, key: { $0.differenceIdentifier })
    }
  }
}

/// An operation that decides how often, and from which of its inputs, a key is in the output.
@usableFromInline
enum SetOperation: Sendable {
  case distinct, union, intersection, subtraction

  /// Returns which of the elements of one input that have a key are in the output: their indices in the order of the input.
  ///
  /// - Parameters:
  ///   - input: The number of the input.
  ///   - count: A closure that returns the number of elements of an input that have the key.
  @inlinable
  func included(of input: Int, count: (_ input: Int) -> Int) -> Range<Int> {
    switch self {
    case .distinct: return 0..<min(1, count(0))
    case .union:
      let earlier = (0..<input).reduce(0) { max($0, count($1)) }
      return earlier..<max(earlier, count(input))
    case .intersection: return 0..<(input == 0 ? min(count(0), count(1)) : 0)
    case .subtraction: return 0..<(input == 0 ? max(0, count(0) - count(1)) : 0)
    }
  }
}
