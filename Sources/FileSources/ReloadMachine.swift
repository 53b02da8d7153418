import FileWatching
import ObservableCollections

/// A state machine that decides when a source reads its file, and when it shows an error.
///
/// The machine performs nothing. Its owner performs the returned actions in order and reports the
/// results.
struct ReloadMachine {
  struct Timing: Sendable, Hashable {
    /// The pause of a writer after which a file that stays open is read.
    var quiet = Duration.milliseconds(20)
    /// The time for which a file may be missing, empty or malformed before the status shows it.
    var grace = Duration.milliseconds(250)
    /// The pause before a read that the system refused is repeated.
    var retry = Duration.seconds(1)
  }

  enum Timer: Sendable, Hashable {
    case quiet, grace, retry
  }

  /// A timer that was set. Only the newest timer of a kind counts.
  struct Ticket: Sendable, Hashable {
    var timer: Timer
    var number: Int
  }

  enum Action: Sendable, Hashable {
    /// Read the file, and report the result with `readSucceeded` or `readFailed`.
    case read
    case schedule(Ticket, Duration)
    /// Show a failure in the status.
    case show(SourceStatus.State)
  }

  /// The reason why a read returned no contents.
  struct Trouble: Sendable, Hashable {
    /// The status, which is failed or missing.
    var state: SourceStatus.State
    /// A Boolean value that indicates whether the trouble may come from a save in progress.
    var isTransient: Bool
    /// A Boolean value that indicates whether the trouble may end without a change of the file.
    var needsRetry: Bool
  }

  private let timing: Timing
  private var hasLoaded = false
  /// The trouble that the status shows.
  private var shown: Trouble?
  /// A Boolean value that indicates whether the grace period has ended.
  private(set) var isGraceOver = false
  /// A Boolean value that indicates whether a writer was active at the last event.
  private(set) var isBeingWritten = false
  private var quietDelays = 0
  private var graceDelays = 0
  private var tickets: [Timer: Int] = [:]
  private var lastTicket = 0

  /// The number of times that a wait may restart, so a constant writer cannot block reading.
  private static let maximumDelays = 50

  init(timing: Timing) {
    self.timing = timing
  }

  mutating func fileChanged(_ kind: FileEvent.Kind) -> [Action] {
    switch kind {
    case .written, .replaced, .removed:
      isBeingWritten = false
      return read()
    case .touched, .check:
      return read()
    case .modified, .created:
      isBeingWritten = true
      quietDelays += 1
      if quietDelays > Self.maximumDelays { return read() }
      return [schedule(.quiet, timing.quiet)]
    }
  }

  /// Reads immediately because a writer appends. Complete lines count, even if more lines will
  /// follow.
  mutating func fileGrew() -> [Action] {
    isBeingWritten = true
    return read()
  }

  mutating func timerFired(_ ticket: Ticket) -> [Action] {
    guard tickets[ticket.timer] == ticket.number else { return [] }
    tickets[ticket.timer] = nil
    if ticket.timer == .grace { isGraceOver = true }
    return read()
  }

  mutating func readSucceeded() {
    hasLoaded = true
    shown = nil
    isGraceOver = false
    isBeingWritten = false
    graceDelays = 0
    tickets = [:]
  }

  mutating func readFailed(_ trouble: Trouble) -> [Action] {
    defer { isGraceOver = false }
    if trouble == shown {
      tickets[.grace] = nil
      return retry(trouble)
    }
    let isFirst = !hasLoaded && shown == nil && !trouble.isTransient
    guard isGraceOver || isFirst else {
      return waitForRest()
    }
    shown = trouble
    graceDelays = 0
    tickets[.grace] = nil
    return [.show(trouble.state)] + retry(trouble)
  }

  /// Waits for the grace period before the result counts, because the writer may not be done.
  mutating func waitForRest() -> [Action] {
    // While a slow writer is active, each part restarts the grace period.
    if tickets[.grace] != nil {
      guard isBeingWritten, graceDelays < Self.maximumDelays else { return [] }
      graceDelays += 1
    }
    return [schedule(.grace, timing.grace)]
  }

  /// Reads the file now, and cancels a delayed read.
  mutating func read() -> [Action] {
    tickets[.quiet] = nil
    quietDelays = 0
    return [.read]
  }

  private mutating func retry(_ trouble: Trouble) -> [Action] {
    trouble.needsRetry ? [schedule(.retry, timing.retry)] : []
  }

  private mutating func schedule(_ timer: Timer, _ delay: Duration) -> Action {
    lastTicket += 1
    tickets[timer] = lastTicket
    return .schedule(Ticket(timer: timer, number: lastTicket), delay)
  }
}
