/// The combination of values at which a test has failed.
public struct CombinationFailure: Error, CustomStringConvertible {
  /// The values by their names, the outermost first.
  public let combination: [(name: String, value: String)]
  /// What has failed there.
  public let underlying: any Error

  public var description: String {
    let values = combination.map { "\($0.name) = \($0.value)" }.joined(separator: ", ")
    return "with \(values): \(underlying)"
  }

  init(_ name: String, _ value: some Any, _ error: any Error) {
    let outer = (name, String(describing: value))
    if let inner = error as? CombinationFailure {
      combination = [outer] + inner.combination
      underlying = inner.underlying
    } else {
      combination = [outer]
      underlying = error
    }
  }
}
