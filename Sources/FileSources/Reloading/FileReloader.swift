import Diffing
import Dispatch
import FileWatching
import ObservableCollections
import SwappablePrimitives

/// The part of a source that depends on the format of its file. It reads the file, and its reloader does
/// the rest. It is used on the source's queue only.
protocol FileLoader<Element>: AnyObject {
  associatedtype Element: Differentiable & Sendable

  /// Diagnostics of the format, which become part of the status.
  var diagnostics: [SourceStatus.Diagnostic] { get }

  /// Handles an event of the file watch.
  ///
  /// - Returns: A Boolean value that indicates whether the file has only grown, so it is read at once.
  func fileChanged(_ event: FileEvent) -> Bool

  /// Reads the file.
  ///
  /// - Parameters:
  ///   - old: The contents that the source shows.
  ///   - isBeingWritten: A Boolean value that indicates whether a writer was active at the last event.
  ///   - isGraceOver: A Boolean value that indicates whether the grace period has ended.
  func read(
    after old: Snapshot<Element>, isBeingWritten: Bool, isGraceOver: Bool
  ) -> ReadOutcome<Element>
}

extension FileLoader {
  var diagnostics: [SourceStatus.Diagnostic] { [] }
  func fileChanged(_: FileEvent) -> Bool { false }
}

/// The result of reading a file.
enum ReadOutcome<Element: Sendable> {
  /// The contents are valid. If they are not complete, the file is read again after the grace period.
  case loaded(LoadedContents<Element>, isComplete: Bool = true)
  /// A writer continues, so nothing counts before the grace period has ended.
  case unfinished
  case failed(ReadFailure)
}

/// The contents of a file, relative to the contents that the source shows.
enum LoadedContents<Element: Sendable> {
  case same
  case whole([Element])
  /// The elements in the order of the changeset's insertions and updates.
  case changed(Changeset, inserted: [Element], updated: [Element])
  /// Elements at the end. The first one may replace the last element that is shown.
  case appended([Element], replacingLast: Bool)

  /// The number of elements that were read or changed.
  var changeCount: Int {
    switch self {
    case .same: 0
    case .whole(let elements), .appended(let elements, _): elements.count
    case .changed(let changeset, _, _): changeset.changeCount
    }
  }
}

/// The implementation of a file source, which watches, reads, decodes and publishes on its own
/// queue.
///
/// A save takes this way: event of the watch → `ReloadMachine.fileChanged` → action `read` →
/// `FileLoader.read` → `publish`.
///
/// The source retains the reloader. The watch and the timers refer to it weakly, so releasing the
/// source ends everything.
final class FileReloader<Element: Differentiable & Sendable>: @unchecked Sendable {
  // Sendable: only the serial queue accesses `machine`, `identities`, `duplicate` and the contents
  // of `loader`. `state` has a lock. All other properties are constant.

  private struct State {
    var hasStarted = false
    var hasStopped = false
    var watch: FileWatch?
    var timers: [ReloadMachine.Timer: ScheduledTimer] = [:]
  }

  let path: ByteString
  private let system: WatchSystem
  private let contents: CollectionProperty<Element>
  private let loader: any FileLoader<Element>
  private let queue: DispatchQueue
  private let state = Locked(State())
  private var machine: ReloadMachine
  private var identities = IdentityCounts<Element>()
  private var duplicate: SourceStatus.Diagnostic?

  init(
    path: ByteString, queueLabel: String, system: WatchSystem, timing: ReloadMachine.Timing,
    contents: CollectionProperty<Element>, loader: any FileLoader<Element>
  ) {
    self.path = path
    self.system = system
    self.contents = contents
    self.loader = loader
    queue = DispatchQueue(label: queueLabel)
    machine = ReloadMachine(timing: timing)
  }

  func start() {
    let isFirst = state.withLock { state in
      defer { state.hasStarted = true }
      return !state.hasStarted
    }
    guard isFirst else { return }
    contents.setStatus(.loading)
    StartLimiter.files.start(on: queue) { [weak self] in self?.begin() }
  }

  func stop() {
    let (watch, timers) = state.withLock { state in
      defer { (state.watch, state.timers) = (nil, [:]) }
      state.hasStopped = true
      return (state.watch, state.timers)
    }
    watch?.cancel()
    for timer in timers.values { timer.cancel() }
  }

  private var hasStopped: Bool { state.withLock { $0.hasStopped } }

  // MARK: - On the queue

  private func begin() {
    // The watch begins before the first read, so no change is missed between them.
    let watch = FileWatch(path: path, queue: queue, system: system) { [weak self] event in
      guard let self else { return }
      let hasGrown = loader.fileChanged(event)
      perform(machine.fileChanged(event.kind, hasGrown: hasGrown))
    }
    let isStopped = state.withLock { state in
      if !state.hasStopped { state.watch = watch }
      return state.hasStopped
    }
    if isStopped { return }
    perform([.read])
  }

  private func perform(_ actions: [ReloadMachine.Action]) {
    for action in actions {
      if hasStopped { return }
      switch action {
      case .read: perform(read())
      case .schedule(let token, let delay): schedule(token, delay)
      case .show(let state): contents.setStatus(status(state))
      }
    }
  }

  /// Reads the file and publishes its contents.
  ///
  /// - Returns: The actions that follow.
  private func read() -> [ReloadMachine.Action] {
    let start = LiveCollection<Element>.recordingTime
    let outcome = loader.read(
      after: contents.collection.snapshot, isBeingWritten: machine.isBeingWritten,
      isGraceOver: machine.isGraceOver)
    switch outcome {
    case .loaded(let new, let isComplete):
      record(new, since: start)
      machine.readSucceeded()
      // The source may have been released during the read.
      if hasStopped { return [] }
      publish(new)
      return isComplete ? [] : machine.waitForGrace()
    case .unfinished:
      return machine.waitForGrace()
    case .failed(let failure):
      return machine.readFailed(failure)
    }
  }

  /// Records a read for explanations of the source.
  private func record(_ new: LoadedContents<Element>, since start: UInt64) {
    let polling = state.withLock { $0.watch }?.diagnostic
    contents.collection.describe(
      mode: polling == nil ? "notified" : "polling",
      polling ?? "The system reports each change of the file.")
    contents.collection.record(
      machine.hasLoaded ? .reload : .load, since: start, count: new.changeCount)
  }

  /// Edits the contents, and looks for duplicate identities.
  private func publish(_ new: LoadedContents<Element>) {
    contents.edit { draft in
      switch new {
      case .same:
        break
      case .whole(let elements):
        identities = IdentityCounts()
        draft.replace(with: elements)
        duplicate = IdentityCounts.diagnostic(for: elements)
      case .changed(let changeset, let inserted, let updated):
        let old = draft.snapshot
        identities.update(old, removed: changeset.deletions.map { old[$0] }, added: inserted)
        draft.apply(changeset, inserted: inserted, updated: updated)
        duplicate = identities.diagnostic(for: draft.snapshot)
      case .appended(let elements, let replacesLast):
        let last = replacesLast ? draft[draft.count - 1] : nil
        identities.update(draft.snapshot, removed: last.map { [$0] } ?? [], added: elements)
        var added = elements[...]
        if let last, let first = added.first,
          last.differenceIdentifier == first.differenceIdentifier
        {
          draft[draft.count - 1] = first
          added = added.dropFirst()
        } else if last != nil {
          draft.removeSubrange(draft.count - 1..<draft.count)
        }
        draft.append(contentsOf: added)
        // While elements are only added, the first duplicate stays the same.
        if duplicate == nil || last != nil || !identities.hasDuplicates {
          duplicate = identities.diagnostic(for: draft.snapshot)
        }
      }
      draft.newStatus = status(.loaded)
    }
  }

  /// Returns the status for a state, with the current diagnostics.
  private func status(_ state: SourceStatus.State) -> SourceStatus {
    var diagnostics: [SourceStatus.Diagnostic] = []
    if let polling = self.state.withLock({ $0.watch })?.diagnostic {
      diagnostics.append(SourceStatus.Diagnostic(code: "polling", message: polling))
    }
    if let duplicate { diagnostics.append(duplicate) }
    return SourceStatus(state, diagnostics: diagnostics + loader.diagnostics)
  }

  private func schedule(_ token: ReloadMachine.TimerToken, _ delay: Duration) {
    let timer = system.callLater(delay, queue) { [weak self] in
      guard let self else { return }
      perform(machine.timerFired(token))
    }
    // Only the newest timer of a kind counts.
    let unwanted = state.withLock { state in
      state.hasStopped ? timer : state.timers.updateValue(timer, forKey: token.timer)
    }
    unwanted?.cancel()
  }
}

/// The number of elements of each identity, kept up to date by changes.
struct IdentityCounts<Element: Differentiable & Sendable> {
  /// The counts, or `nil` before the first change. Most lists are read once.
  private var counts: [Element.DifferenceIdentifier: Int]?
  /// The number of elements whose identity an earlier element has.
  private var surplus = 0

  /// A Boolean value that indicates whether any elements share an identity.
  var hasDuplicates: Bool { surplus > 0 }

  /// Counts removed and added elements.
  ///
  /// - Parameters:
  ///   - old: The elements before the change.
  ///   - removed: The elements that the change removes.
  ///   - added: The elements that the change adds.
  /// - Complexity: O(*k*) in the *k* removed and added elements. The first change is O(*n*).
  mutating func update(_ old: some Collection<Element>, removed: [Element], added: [Element]) {
    var counts = self.counts ?? [:]
    // The property must not have a second reference to the dictionary, or else it would be copied.
    let isFirst = self.counts == nil
    self.counts = nil
    if isFirst {
      counts.reserveCapacity(old.count + added.count)
      for element in old { add(element, to: &counts) }
    }
    for element in removed {
      let identifier = element.differenceIdentifier
      guard let count = counts[identifier] else { continue }
      counts[identifier] = count > 1 ? count - 1 : nil
      if count > 1 { surplus -= 1 }
    }
    for element in added { add(element, to: &counts) }
    self.counts = counts
  }

  private mutating func add(
    _ element: Element, to counts: inout [Element.DifferenceIdentifier: Int]
  ) {
    let count = counts[element.differenceIdentifier, default: 0]
    counts[element.differenceIdentifier] = count + 1
    if count > 0 { surplus += 1 }
  }

  /// Returns a diagnostic that names the first two elements with the same identity.
  ///
  /// - Parameter elements: The elements that are counted.
  /// - Returns: The diagnostic, or `nil` if all identities are unique.
  func diagnostic(for elements: some RandomAccessCollection<Element>) -> SourceStatus.Diagnostic? {
    hasDuplicates ? Self.diagnostic(for: elements) : nil
  }

  /// Returns a diagnostic that names the first two elements with the same identity.
  ///
  /// - Returns: The diagnostic, or `nil` if all identities are unique.
  /// - Complexity: O(*n*).
  static func diagnostic(for elements: some RandomAccessCollection<Element>) -> SourceStatus
    .Diagnostic?
  {
    guard
      let (first, second) = elements.firstDuplicate(by: \.differenceIdentifier)
    else { return nil }
    let element = elements[elements.index(elements.startIndex, offsetBy: second)]
    return SourceStatus.Diagnostic(
      code: "duplicate-identity",
      message: "Elements \(first) and \(second) have the same key, "
        + "\(element.differenceIdentifier); a change of one may be reported for the other.")
  }
}
