import SwappablePrimitives

/// Lets a view be drawn so many times a second at most, however often that is asked for.
///
/// The first request after a pause is granted at once; those that come too early wait together for the
/// next moment. While nobody asks, nothing runs.
@MainActor
final class FramePacer {
  private let interval: Duration
  private let clock: AnyClock
  private let draw: @MainActor () -> Void
  /// What is to be done before the next drawing: at most one piece for each observer.
  private var works: [@Sendable () -> Void] = []
  private var lastFrame: Duration?
  /// The drawing that is waited for, and when it is due.
  private var waiting: (task: Task<Void, Never>, due: Duration)?

  /// - Parameters:
  ///   - framesPerSecond: How often at most.
  ///   - clock: Tells the time.
  ///   - draw: Called at each moment granted.
  init(framesPerSecond: Int, clock: AnyClock, draw: @escaping @MainActor () -> Void) {
    precondition(framesPerSecond > 0, "\(framesPerSecond) frames a second show nothing")
    interval = .seconds(1) / framesPerSecond
    self.clock = clock
    self.draw = draw
  }

  deinit {
    waiting?.task.cancel()
  }

  /// Asks for a drawing, as soon as may be.
  ///
  /// - Parameter work: Done right before it.
  func request(_ work: (@Sendable () -> Void)? = nil) {
    if let work { works.append(work) }
    let now = clock.now.offset
    request(at: lastFrame.map { max(now, $0 + interval) } ?? now, now)
  }

  /// Asks for a drawing at a time, or at the first moment after it that is granted.
  func request(at time: Duration) {
    let now = clock.now.offset
    request(at: max(now, time, lastFrame.map { $0 + interval } ?? now), now)
  }

  private func request(at due: Duration, _ now: Duration) {
    if let waiting {
      guard due < waiting.due else { return }
      waiting.task.cancel()
    }
    // Even where it is due at once it comes a little later: those who ask may be in the middle of it.
    let task = Task { [clock, weak self] in
      // A canceled sleep returns at once.
      if due > now { try? await clock.sleep(until: AnyClock.Instant(offset: due), tolerance: nil) }
      guard !Task.isCancelled else { return }
      self?.fire()
    }
    waiting = (task, due)
  }

  private func fire() {
    waiting = nil
    lastFrame = clock.now.offset
    let due = works
    works = []
    for work in due { work() }
    draw()
  }
}
