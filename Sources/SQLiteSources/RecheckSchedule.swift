/// When to look at a database again: shortly after something hinted at a change, and else steadily.
///
/// In WAL mode the file system tells of a write before the commit can be seen, hence the looks at
/// 0.1, 0.3, 1, 3, 10, 30 and 100 ms after a hint; what no hint tells is found by the steady look.
struct RecheckSchedule: Sendable {
  private static let pauses: [Duration] = [
    .microseconds(100), .microseconds(200), .microseconds(700), .milliseconds(2),
    .milliseconds(7), .milliseconds(20), .milliseconds(70),
  ]

  /// The pause between two steady looks.
  let interval: Duration
  private var position = RecheckSchedule.pauses.count

  /// A schedule that looks every `interval`.
  init(interval: Duration = .milliseconds(100)) {
    self.interval = interval
  }

  /// Begins the series of looks after a hint anew.
  mutating func restart() {
    position = 0
  }

  /// The pause before the next look, asked for once after each.
  mutating func next() -> Duration {
    guard position < RecheckSchedule.pauses.count else { return interval }
    defer { position += 1 }
    return RecheckSchedule.pauses[position]
  }
}
