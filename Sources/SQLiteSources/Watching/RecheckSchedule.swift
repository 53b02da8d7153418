/// When to look at a database again: shortly after something hinted at a change, and else steadily.
///
/// In WAL mode the file system tells of a write before the commit can be seen, hence the looks at
/// 0.1, 0.3, 1, 3, 10, 30 and 100 ms after a hint; what no hint tells is found by the steady look.
/// With a rollback journal the looks are at 3, 10, 30 and 100 ms.
struct RecheckSchedule: Sendable {
  private static let pauses: [Duration] = [
    .microseconds(100), .microseconds(200), .microseconds(700), .milliseconds(2),
    .milliseconds(7), .milliseconds(20), .milliseconds(70),
  ]

  /// How long after a hint the first look comes where a look can keep a writer waiting.
  ///
  /// - Parameter sinceChange: How long ago a change was seen; nil for never.
  static func journalPause(after sinceChange: Duration?) -> Duration {
    sinceChange.map { $0 < .milliseconds(100) } ?? false ? .milliseconds(30) : .milliseconds(3)
  }

  /// How long after a hint the first look comes where looks are harmless; nil for at once.
  ///
  /// - Parameter sinceCommit: How long ago this process committed; nil for never.
  static func pause(after sinceCommit: Duration?) -> Duration? {
    sinceCommit.map { $0 < .milliseconds(1) } ?? false ? .milliseconds(1) : nil
  }

  /// The pause between two steady looks.
  let interval: Duration
  private var position = RecheckSchedule.pauses.count

  /// A schedule that looks every `interval`.
  init(interval: Duration = .milliseconds(100)) {
    self.interval = interval
  }

  /// Begins the series of looks after a hint anew.
  ///
  /// - Parameter isWAL: Whether looks are harmless to writers; otherwise the quickest are left out.
  mutating func restart(isWAL: Bool = true) {
    position = isWAL ? 0 : 4
  }

  /// The pause before the next look, asked for once after each.
  mutating func next() -> Duration {
    guard position < RecheckSchedule.pauses.count else { return interval }
    defer { position += 1 }
    return RecheckSchedule.pauses[position]
  }
}
