/// Runs a test for every value; nested, for every combination.
///
///     try withEvery("size", in: 0...4) { size in
///       try withEvery("offset", in: 0..<size) { offset in … }
///     }
///
/// - Parameters:
///   - name: What the value is called in a failure.
///   - values: The values.
///   - body: The test; what it throws ends the whole.
/// - Throws: ``CombinationFailure`` with the values and what `body` has thrown.
public func withEvery<Value>(
  _ name: String, in values: some Sequence<Value>, _ body: (Value) throws -> Void
) throws {
  for value in values {
    do {
      try body(value)
    } catch {
      throw CombinationFailure(name, value, error)
    }
  }
}

/// Runs an asynchronous test for every value; nested, for every combination.
///
/// - Parameters:
///   - name: What the value is called in a failure.
///   - values: The values.
///   - actor: Where the test runs: by default where this is called.
///   - body: The test; what it throws ends the whole.
/// - Throws: ``CombinationFailure`` with the values and what `body` has thrown.
public func withEvery<Value: Sendable>(
  _ name: String, in values: some Sequence<Value>,
  isolation actor: isolated (any Actor)? = #isolation, _ body: (Value) async throws -> Void
) async throws {
  for value in values {
    do {
      try await body(value)
    } catch {
      throw CombinationFailure(name, value, error)
    }
  }
}

/// All lists of up to a number of elements, the shortest first.
///
/// - Parameters:
///   - count: The greatest length.
///   - elements: What each place may hold.
/// - Complexity: There are as many as `elements.count` to the power of `count`, and more.
public func everyList<Element>(upTo count: Int, of elements: [Element]) -> [[Element]] {
  var lists: [[Element]] = [[]]
  var longest = lists
  for _ in 0..<count {
    longest = longest.flatMap { list in elements.map { list + [$0] } }
    lists += longest
  }
  return lists
}
