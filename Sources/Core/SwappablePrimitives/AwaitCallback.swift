/// Waits until a closure calls back, or until the task is canceled.
///
/// - Parameter start: A closure that starts the work, which calls back at its end. Only the first call counts.
/// - Returns: The value of the call, or `nil` if the task is canceled first. The work continues in that case.
@discardableResult
package func awaitCallback<Value: Sendable>(
  isolation: isolated (any Actor)? = #isolation,
  _ start: (_ callback: @escaping @Sendable (Value) -> Void) -> Void
) async -> Value? {
  // A stream ends if its reader is canceled, unlike a continuation.
  let (values, continuation) = AsyncStream.makeStream(of: Value.self)
  start { continuation.yield($0) }
  var iterator = values.makeAsyncIterator()
  return await iterator.next(isolation: isolation)
}
