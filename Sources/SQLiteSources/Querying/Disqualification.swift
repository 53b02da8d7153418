/// Why a query is run as a whole after each change.
struct Disqualification: Error, Sendable, Hashable {
  /// The reason, as what follows "since".
  private let reason: String
  /// What would make the query incremental, as an order.
  private let help: String

  init(_ reason: String, help: String) {
    self.reason = reason
    self.help = help
  }

  /// The reason as a sentence.
  var sentence: String { "The whole query runs again after each change, since \(reason)." }

  /// What would make the query incremental, as a sentence.
  var suggestion: String { "To have changed rows alone read again, \(help)." }
}
