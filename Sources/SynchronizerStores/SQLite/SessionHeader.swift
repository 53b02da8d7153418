import Foundation
import Synchronizers

/// What is kept of a session beside its lists.
struct SessionHeader<Version: Hashable & Codable & Sendable>: Codable {
  struct Push: Codable {
    var id: PushIdentifier
    var version: Version
    /// Of the older versions of both lists' rows.
    var checks: [ListCheck]
  }

  var version: Version?
  var push: Push?
  /// Of the newer versions of both lists' rows.
  var checks: [ListCheck]
}
