import ReactiveSignals
import SwappablePrimitives

/// Sources that show together what has changed by one cause, for example by a link that leads to other files.
///
/// Usually, each source of a group shows what it has read at once. If a read has a cause that other sources may share, a
/// *pass* begins. The group then asks all sources to look for changes, until none finds one, and no read runs. Then it
/// shows what was read meanwhile, in one transaction.
package final class ReadGroup: Sendable {
  /// The result of a read, which is to be shown.
  struct Publication: Sendable {
    /// A Boolean value that indicates whether the source has shown nothing before. It may lead to the others, which are
    /// then complete.
    let isFirst: Bool
    let publish: @Sendable () -> Void
    /// Called after the transaction.
    let finish: @Sendable () -> Void
  }

  private struct Pass: Sendable {
    let start = ContinuousClock.now
    var publications: [Publication] = []
    var checks = 0
    /// A Boolean value that indicates whether a thread checks the sources, or shows what was read.
    var isBusy = false
    /// A Boolean value that indicates whether a read has begun since the last check.
    var isStale = true
  }

  private struct State: Sendable {
    /// The number of reads that have been begun, and have not ended.
    var running = 0
    var pass: Pass?
    /// A Boolean value that indicates whether a path has led elsewhere since the last pass.
    var hasTurned = false
    var turns = 0
    var checks: [@Sendable () -> Bool] = []
  }

  /// The largest number of checks in a pass, if the files change without a pause.
  private static let maximumChecks = 8
  /// The time after which a pass shows what it has, if a read takes long.
  private static let longest = Duration.seconds(1)

  private let state = Locked(State())

  package init() {}

  /// Adds a closure that looks for changes of a source, and asks for a read if there are any.
  ///
  /// - Parameter check: The closure. It returns `false` if the source is gone.
  package func add(_ check: @escaping @Sendable () -> Bool) {
    state.withLock { $0.checks.append(check) }
  }

  /// A Boolean value that indicates whether a path leads elsewhere, and what was there has not been shown.
  package var hasTurned: Bool { state.withLock { $0.hasTurned } }

  /// The number of paths that have led elsewhere so far.
  package var turns: Int { state.withLock { $0.turns } }

  /// Notes that a path leads elsewhere.
  package func noteTurn() { state.withLock { ($0.hasTurned, $0.turns) = (true, $0.turns + 1) } }

  /// Notes that a read begins.
  func begin() {
    state.withLock { state in
      state.running += 1
      state.pass?.isStale = true
    }
  }

  /// Shows what was read, or keeps it for the end of the pass.
  ///
  /// - Parameter hasCommonCause: A Boolean value that indicates whether other sources may have changed by the same cause.
  func publish(_ publication: Publication, hasCommonCause: Bool) {
    let isNow = state.withLock { state in
      if hasCommonCause, state.pass == nil { state.pass = Pass() }
      state.pass?.publications.append(publication)
      return state.pass == nil
    }
    guard isNow else { return }
    publication.publish()
    publication.finish()
  }

  /// Notes that a read has ended. The last one ends the pass.
  func end() {
    state.withLock { $0.running -= 1 }
    while let publications = nextStep() {
      if publications.isEmpty {
        check()
      } else {
        for isFirst in [false, true] {
          withTransaction {
            for publication in publications where publication.isFirst == isFirst {
              publication.publish()
            }
          }
        }
        for publication in publications { publication.finish() }
      }
      state.withLock { state in
        state.pass?.isBusy = false
        // What was read meanwhile comes after what was shown now.
        if state.pass?.publications.isEmpty == true { (state.pass, state.hasTurned) = (nil, false) }
      }
    }
  }

  /// Returns what is shown now, or nothing if the sources are to be checked before.
  private func nextStep() -> [Publication]? {
    state.withLock { state in
      guard var pass = state.pass, !pass.isBusy else { return nil }
      let isLate = pass.start.duration(to: .now) > Self.longest || pass.checks == Self.maximumChecks
      let isOver = state.running == 0 && !pass.isStale || isLate
      guard isOver || state.running == 0 else { return nil }
      let publications = isOver ? pass.publications : []
      if isOver { pass = Pass() } else { (pass.checks, pass.isStale) = (pass.checks + 1, false) }
      pass.isBusy = true
      state.pass = pass
      return publications
    }
  }

  /// Lets all sources look for changes.
  private func check() {
    let checks = state.withLock { $0.checks }
    let gone = checks.map { !$0() }
    guard gone.contains(true) else { return }
    state.withLock { state in
      let new = state.checks.dropFirst(gone.count)
      state.checks = zip(checks, gone).filter { !$0.1 }.map(\.0) + new
    }
  }
}
