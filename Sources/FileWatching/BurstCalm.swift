/// Tells a thread that is woken again and again to wait a little before it asks for more.
///
/// To wake a thread costs whoever writes to a watched file about as much as a small write. What comes
/// while nobody waits costs little, and what is alike is joined by the kernel.
struct BurstCalm {
  /// How long the thread stays away within a burst.
  static let napMilliseconds: Int32 = 1

  /// A save of a file wakes fewer times.
  private static let burst = 8

  private var wakes = 0
  private var waitsSince: ContinuousClock.Instant?

  /// Whether it was woken often, and always soon after it had begun to wait.
  var isBurst: Bool { wakes > BurstCalm.burst }

  /// The thread begins to wait.
  mutating func waits(at now: ContinuousClock.Instant) { waitsSince = now }

  /// The thread goes on.
  mutating func woken(at now: ContinuousClock.Instant) {
    let isSoon = waitsSince.map { $0.duration(to: now) < .milliseconds(1) } ?? false
    wakes = isSoon ? wakes + 1 : 0
  }
}
