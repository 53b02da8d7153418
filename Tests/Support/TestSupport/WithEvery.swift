/// Runs a test for each value. Nested calls run it for each combination of values.
///
///     try withEvery("size", in: 0...4) { size in
///       try withEvery("offset", in: 0..<size) { offset in … }
///     }
///
/// - Parameters:
///   - name: The name of the value in an error.
///   - values: The values.
///   - body: The test. If it throws, no further values are tested.
/// - Throws: A ``CombinationError`` with the values and the error of `body`.
package func withEvery<Value>(
  _ name: String, in values: some Sequence<Value>, _ body: (Value) throws -> Void
) throws {
  for value in values {
    do {
      try body(value)
    } catch {
      throw CombinationError(name, value, error)
    }
  }
}

/// An error of a test for a combination of values.
package struct CombinationError: Error, CustomStringConvertible {
  /// The names and the values, the outermost first.
  package let combination: [(name: String, value: String)]
  /// The error of the test.
  package let underlying: any Error

  package var description: String {
    let values = combination.map { "\($0.name) = \($0.value)" }.joined(separator: ", ")
    return "with \(values): \(underlying)"
  }

  init(_ name: String, _ value: some Any, _ error: any Error) {
    let outer = (name, String(describing: value))
    if let inner = error as? CombinationError {
      combination = [outer] + inner.combination
      underlying = inner.underlying
    } else {
      combination = [outer]
      underlying = error
    }
  }
}
