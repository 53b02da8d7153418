import SwappablePrimitives

/// A rule for when a thread that is woken repeatedly pauses before it waits again.
///
/// Waking a thread costs the writer of a watched file about as much as a small write. Events that
/// arrive while no thread waits cost little, and the kernel merges equal events.
struct BurstCalm {
  /// The pause within a burst.
  static let napMilliseconds: Int32 = 1

  /// The number of wakes that make a burst. A save of a file wakes the thread fewer times.
  private static let burst = 8

  private var wakes = 0
  private var waitsSince: AnyClock.Instant?

  /// A Boolean value that indicates whether the thread was woken often, each time soon after it had
  /// begun to wait.
  var isBurst: Bool { wakes > BurstCalm.burst }

  /// Notes that the thread begins to wait.
  mutating func waits(at now: AnyClock.Instant) { waitsSince = now }

  /// Notes that the thread was woken.
  mutating func woken(at now: AnyClock.Instant) {
    let isSoon = waitsSince.map { $0.duration(to: now) < .milliseconds(1) } ?? false
    wakes = isSoon ? wakes + 1 : 0
  }
}
