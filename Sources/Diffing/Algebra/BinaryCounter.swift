/// Combines many values in their order, so that each takes part in few combinations.
///
/// Like the digits of a binary number, the entries stand for twice as many values as the ones after
/// them; a value that is added carries on through those that are full.
package struct BinaryCounter<Value> {
  private var entries: [(level: Int, value: Value)] = []

  package init() {}

  /// What has not been combined yet, in order.
  package var values: [Value] { entries.map(\.value) }

  /// Adds a value behind all others.
  ///
  /// - Parameters:
  ///   - value: The value.
  ///   - combine: Makes one of two that follow one another. Called O(1) times on average, and for each
  ///     value O(log *m*) times in all for *m* values.
  package mutating func append(_ value: Value, combine: (Value, Value) -> Value) {
    var (level, value) = (0, value)
    while let last = entries.last, last.level == level {
      entries.removeLast()
      value = combine(last.value, value)
      level += 1
    }
    entries.append((level, value))
  }

  /// All of them as one; `nil` where there is none.
  package func total(combine: (Value, Value) -> Value) -> Value? {
    // The smallest first.
    entries.last.map { last in
      entries.dropLast().reversed().reduce(last.value) { combine($1.value, $0) }
    }
  }
}

extension BinaryCounter: Sendable where Value: Sendable {}
