/// What a recording observer expects, and how much it does for it.
struct RecordingOptions: Sendable {
  var checksReplay = ReplayChecking.every
  /// How many events are kept.
  var keeps = Int.max
  var seed: UInt64?
  /// Whether no two changes may be merged.
  var expectsEveryRevision = false
}
