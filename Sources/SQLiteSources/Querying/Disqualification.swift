/// Why a query is run as a whole after each change.
struct Disqualification: Error, Sendable, Hashable {
  /// The reason, as a sentence without its stop.
  var reason: String
  /// What would make the query incremental.
  var help: String

  init(_ reason: String, help: String) {
    self.reason = reason
    self.help = help
  }
}
