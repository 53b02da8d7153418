import FileWatching
import ObservableCollections
import SwappablePrimitives

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

  /// The kinds of timers, one for each duration of `Timing`.
  enum Timer: Sendable, Hashable {
    case quiet, grace, retry
  }

  /// A timer that was set. Only the newest timer of a kind counts.
  struct TimerToken: Sendable, Hashable {
    var timer: Timer
    var number: Int
  }

  enum Action: Sendable, Hashable {
    /// Read the file, and report the result with `readSucceeded` or `readFailed`.
    case read
    /// Set a timer, and report its end with `timerFired`.
    case schedule(TimerToken, Duration)
    /// Show a failure in the status.
    case show(SourceStatus.State)
  }

  private let timing: Timing
  private(set) var hasLoaded = false
  /// The failure that the status shows.
  private var shown: ReadFailure?
  private(set) var isGraceOver = false
  /// A Boolean value that indicates whether a writer was active at the last event.
  private(set) var isBeingWritten = false
  private var quietDelays = 0
  private var graceDelays = 0
  /// The number of the newest timer of each kind.
  private var tokens: [Timer: Int] = [:]
  private var lastToken = 0

  /// The number of times that a wait may restart, so a constant writer cannot block reading.
  private static let maximumDelays = 50

  init(timing: Timing) {
    self.timing = timing
  }

  /// Reacts to an event of the file watch.
  ///
  /// - Parameter hasGrown: A Boolean value that indicates whether a writer only appends. The file is then
  ///   read immediately: complete lines count, even if more lines follow.
  mutating func fileChanged(_ kind: FileEvent.Kind, hasGrown: Bool = false) -> [Action] {
    switch kind {
    case .written, .replaced, .removed:
      isBeingWritten = false
      return read()
    case .touched, .check:
      return read()
    case .modified, .created:
      isBeingWritten = true
      if hasGrown { return read() }
      quietDelays += 1
      if quietDelays > Self.maximumDelays { return read() }
      return [schedule(.quiet, timing.quiet)]
    }
  }

  mutating func timerFired(_ token: TimerToken) -> [Action] {
    guard tokens[token.timer] == token.number else { return [] }
    tokens[token.timer] = nil
    if token.timer == .grace { isGraceOver = true }
    return read()
  }

  mutating func readSucceeded() {
    hasLoaded = true
    shown = nil
    isGraceOver = false
    isBeingWritten = false
    graceDelays = 0
    tokens = [:]
  }

  mutating func readFailed(_ failure: ReadFailure) -> [Action] {
    defer { isGraceOver = false }
    if failure == shown {
      tokens[.grace] = nil
      return retry(failure)
    }
    let isFirst = !hasLoaded && shown == nil && !failure.isTransient
    guard isGraceOver || isFirst else {
      return waitForGrace()
    }
    shown = failure
    graceDelays = 0
    tokens[.grace] = nil
    return [.show(failure.state)] + retry(failure)
  }

  /// Waits for the grace period before the result counts, because the writer may continue.
  mutating func waitForGrace() -> [Action] {
    // While a slow writer is active, each part restarts the grace period.
    if tokens[.grace] != nil {
      guard isBeingWritten, graceDelays < Self.maximumDelays else { return [] }
      graceDelays += 1
    }
    return [schedule(.grace, timing.grace)]
  }

  /// Reads the file now, and cancels a delayed read.
  mutating func read() -> [Action] {
    tokens[.quiet] = nil
    quietDelays = 0
    return [.read]
  }

  private mutating func retry(_ failure: ReadFailure) -> [Action] {
    failure.needsRetry ? [schedule(.retry, timing.retry)] : []
  }

  private mutating func schedule(_ timer: Timer, _ delay: Duration) -> Action {
    lastToken += 1
    tokens[timer] = lastToken
    return .schedule(TimerToken(timer: timer, number: lastToken), delay)
  }
}

/// The reason why a read returned no contents.
struct ReadFailure: Error, Hashable {
  /// The status, which is failed or missing.
  var state: SourceStatus.State
  /// A Boolean value that indicates whether the failure may come from a save in progress.
  var isTransient: Bool
  /// A Boolean value that indicates whether the failure may end without a change of the file.
  var needsRetry: Bool
}

extension ReadFailure {
  /// Creates the failure for a file that cannot be read.
  init(_ error: FileError) {
    let (code, help): (String, String) =
      switch error.cause {
      case .missing: ("file-missing", "check the path, or create the file")
      case .denied: ("file-denied", "let this process read it")
      case .loop: ("file-loop", "repair the symbolic links on its path")
      case .isDirectory, .isSpecial: ("file-not-regular", "")
      case .limit: ("file-limit", "raise the system's limit, or open fewer files")
      case .unstable: ("file-unstable", "wait until its writer pauses")
      case .other: ("file-unreadable", "check the disk and the permissions")
      }
    let message = help.isEmpty ? error.description : "\(error); \(help)"
    let source = SourceError(code: code, message: message, underlying: error)
    state = error.cause == .missing ? .missing(source) : .failed(source)
    isTransient = error.cause == .unstable
    needsRetry = [.limit, .unstable, .other].contains(error.cause)
  }

  /// Creates the failure for a file whose text is not valid.
  init(_ error: JSONElement.ParsingError, path: ByteString) {
    state = .failed(
      SourceError(
        code: "json-\(error.code.rawValue)", message: "cannot read \(path): \(error)",
        underlying: error))
    isTransient = true
    needsRetry = false
  }
}
