import Diffing
import FileSources
import ObservableCollections
import ReactiveSignals
import SwappablePrimitives

/// The collection of a feed, without the type of its elements.
protocol FeedContents: AnyObject, Sendable {
  var status: SourceStatus { get }
  /// The subscribers that wait.
  var news: FeedNews { get }

  /// Makes the latest revision the one that subscribers receive.
  ///
  /// Until the next call, all subscribers come to the same revision, and then share their lines.
  func advance()

  /// Returns an `initial` line, or a status if the collection has not loaded or cannot be encoded.
  ///
  /// - Parameter isExact: A Boolean value that indicates whether the line must have the latest revision and only contents.
  ///   If not, the line may be one that was made for another subscriber shortly before, and it reports the status if the
  ///   source has failed.
  func initial(isExact: Bool) -> FeedStep

  /// Returns an `alive` line with the revision of a token, or `nil` if the feed does not have the revision.
  func resume(from token: String) -> Feed.Line?

  /// Returns a Boolean value that indicates whether a token is one of the latest contents.
  func isCurrent(_ token: String) -> Bool

  /// Returns what follows a revision.
  ///
  /// - Parameter isWhole: A Boolean value that indicates whether a change must lead to the latest revision. If not, it may
  ///   lead to an earlier one, which subscribers that are far behind share.
  func next(after revision: Int, isWhole: Bool) -> FeedStep

  /// Returns a line that says that a subscriber has the latest revision.
  func alive(at revision: Int, token: String) -> Feed.Line

  func line(for status: SourceStatus) -> Feed.Line
}

/// What a subscriber receives next.
enum FeedStep {
  case line(Feed.Line)
  /// The contents are the same, or there are none. Their status is given.
  case status(SourceStatus)
  /// The contents are the same, and their status is about to be known.
  case nothing
  /// The changes are no longer recorded. An `initial` line has to follow.
  case reset
}

/// The collection of a feed: its history, the fingerprints of its revisions, and the lines that subscribers share.
final class RecordedContents<Element: EventElement>: FeedContents {
  private struct State: Sendable {
    /// The revisions, from the oldest to the latest.
    var points: [FeedPoint] = []
    /// The fingerprint of the contents at the latest point.
    var fingerprint: ListFingerprint?
    var changes = ChangeLines()
    /// The latest `initial` line, as long as it is used.
    weak var initial: Feed.Line.Storage?
    /// The revisions of an `initial` line and of the contents for which few elements differed.
    var recent: (line: Int, contents: Int)?
    /// The latest `status` line.
    var status: (state: SourceStatus.State, line: Feed.Line)?
  }

  let news: FeedNews
  private let key: String?
  private let sendsStatusMessages: Bool
  private let history: CollectionHistory<Element>
  private let state = Locked(State())
  private let observations: [Disposable]

  init(
    _ history: CollectionHistory<Element>, _ key: String?, _ clock: AnyClock,
    sendsStatusMessages: Bool
  ) {
    (self.history, self.key, news) = (history, key, FeedNews(clock: clock))
    self.sendsStatusMessages = sendsStatusMessages
    observations = [
      history.observeSnapshots { [news] _ in news.post() },
      history.observeStatus { [news] _ in news.post() },
    ]
  }

  var status: SourceStatus { history.collection.current.state.status }

  // MARK: Points

  func advance() { _ = latest() }

  /// The revision that subscribers receive, with its contents, or `nil` if the collection has not loaded.
  private func current() -> (point: FeedPoint, snapshot: Snapshot<Element>)? {
    // The history may have forgotten the revision.
    guard let point = state.withLock({ $0.points.last }),
      let snapshot = history.snapshot(at: point.revision)
    else { return latest() }
    return (point, snapshot)
  }

  /// The latest revision with its contents, or `nil` if the collection has not loaded.
  private func latest() -> (point: FeedPoint, snapshot: Snapshot<Element>)? {
    guard history.collection.current.state.hasLoaded else { return nil }
    while true {
      // The range is read last. Otherwise, another thread may add a point after its end.
      let last = state.withLock { $0.points.last }
      let range = history.range
      let isLatest = last.map { $0.revision >= range.upperBound } ?? false
      let revision = last.map { max($0.revision, range.upperBound) } ?? firstRevision
      guard let snapshot = history.snapshot(at: revision) else { continue }
      if isLatest, let last { return (last, snapshot) }
      // The comparison of elements is not allowed to run under the lock.
      let change = last.flatMap { history.change(from: $0.revision, to: revision) }
      let isRecorded = last.map { history.snapshot(at: $0.revision) != nil } ?? false
      let point = state.withLock { state -> FeedPoint? in
        guard state.points.last?.revision == last?.revision else { return nil }
        if isRecorded, let fingerprint = state.fingerprint {
          if let change {
            fingerprint.apply(change.changeset) { snapshot[$0].fingerprintBytes }
          }
        } else {
          state.fingerprint = ListFingerprint(snapshot.lazy.map(\.fingerprintBytes), key: key)
        }
        let point = FeedPoint(revision: revision, fingerprint: state.fingerprint?.text ?? "")
        state.points.removeFirst(state.points.prefix { $0.revision < range.lowerBound }.count)
        state.points.append(point)
        state.changes.releaseLatest()
        return point
      }
      // The collection may have changed again. It might do so all the time.
      if let point, revision >= range.upperBound { return (point, snapshot) }
    }
  }

  /// The oldest revision with elements, or the latest one. A subscriber of a previous run may have its contents.
  ///
  /// A collection is empty before it loads, so the oldest revision itself may be of no use.
  private var firstRevision: Int {
    let revisions = history.revisions.map(\.number)
    let first = revisions.first { !(history.snapshot(at: $0)?.isEmpty ?? true) }
    return first ?? revisions.last ?? 0
  }

  private func token(of point: FeedPoint) -> String {
    history.token(at: point.revision) + "-" + point.fingerprint
  }

  func isCurrent(_ token: String) -> Bool {
    guard let parts = Self.parts(of: token) else { return false }
    return latest()?.point.fingerprint == parts.fingerprint
  }

  /// Returns the parts of a token, or `nil` if it is not valid.
  private static func parts(
    of token: String
  ) -> (revision: Int, fingerprint: String)? {
    let parts = token.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 3, let revision = Int(parts[1]) else { return nil }
    return (revision, String(parts[2]))
  }

  func resume(from token: String) -> Feed.Line? {
    guard let (revision, fingerprint) = Self.parts(of: token),
      var latest = current()?.point
    else { return nil }
    if revision > latest.revision { latest = self.latest()?.point ?? latest }
    let isOwn = token.hasPrefix(history.token(at: revision) + "-")
    if isOwn, history.snapshot(at: revision) != nil {
      return answer(to: token, at: revision, token: token)
    }
    // The token of another run is valid for equal contents, the latest ones if possible.
    let equal = state.withLock { $0.points.last { $0.fingerprint == fingerprint } }
    guard let point = latest.fingerprint == fingerprint ? latest : equal,
      history.snapshot(at: point.revision) != nil
    else { return nil }
    return answer(to: token, at: point.revision, token: self.token(of: point))
  }

  /// Returns the `alive` line that answers a token. It reports the status if the source has failed.
  private func answer(to request: String, at revision: Int, token: String) -> Feed.Line {
    let state = failedState(at: revision)
    var buffer = LineBuffer()
    EventLine.appendAlive(
      since: request, revision: revision, token: token, failure: state.map(reported), to: &buffer)
    return Feed.Line(buffer, token: token, revision: revision, failure: state)
  }

  /// The state of a source that has failed or is missing and has the contents of a revision, or `nil`.
  ///
  /// If there are newer contents, the status that belongs to them follows them.
  private func failedState(at revision: Int) -> SourceStatus.State? {
    let collection = history.collection.current.state
    guard collection.revision == revision, collection.status.error != nil else { return nil }
    return collection.status.state
  }

  /// The name and the message of a state, as lines report them.
  private func reported(_ state: SourceStatus.State) -> EventLine.Failure {
    (state.name, sendsStatusMessages ? SourceStatus(state).error?.message : nil)
  }

  // MARK: Lines

  func initial(isExact: Bool) -> FeedStep {
    let status = status
    guard var (point, snapshot) = isExact ? latest() : current() else { return .status(status) }
    var failure: SourceStatus.State?
    if !isExact, status.error != nil {
      (point, snapshot) = latest() ?? (point, snapshot)
      failure = failedState(at: point.revision)
    }
    if let known = state.withLock({ $0.initial }), known.failure == failure {
      let isRecent =
        known.revision == point.revision
        || !isExact && failure == nil
          && isRecent(known.revision, point.revision, snapshot.count)
      if isRecent { return .line(Feed.Line(storage: known)) }
    }
    for (offset, element) in snapshot.enumerated() {
      if let reason = element.encodingFailure(key: key) {
        return .status(Self.failure(offset, reason))
      }
    }
    var buffer = LineBuffer()
    EventLine.appendInitial(
      snapshot, revision: point.revision, key: key, token: token(of: point),
      failure: failure.map(reported), to: &buffer)
    let line = Feed.Line(
      buffer, token: token(of: point), revision: point.revision, failure: failure)
    // Another thread may have made the same line meanwhile. Clients would keep both in memory.
    let shared = state.withLock { state in
      if let known = state.initial, known.revision == point.revision, known.failure == failure {
        return known
      }
      state.initial = line.storage
      return line.storage
    }
    return .line(Feed.Line(storage: shared))
  }

  /// Returns a Boolean value that indicates whether few elements have changed since a revision.
  private func isRecent(_ revision: Int, _ latest: Int, _ count: Int) -> Bool {
    // Many subscribers can come at the same revision.
    if let known = state.withLock({ $0.recent }), known == (revision, latest) { return true }
    guard history.snapshot(at: revision) != nil,
      history.change(from: revision, to: latest)?.changeset.changeCount ?? 0 <= count / 8
    else { return false }
    state.withLock { $0.recent = (revision, latest) }
    return true
  }

  func next(after revision: Int, isWhole: Bool) -> FeedStep {
    let collection = history.collection.current.state
    guard let point = current()?.point else { return .status(collection.status) }
    // If the contents are newer than the status, the status that belongs to them follows.
    let status =
      collection.revision == point.revision ? FeedStep.status(collection.status) : .nothing
    if point.revision <= revision { return status }
    let (known, blockEnd) = state.withLock { state -> (Feed.Line?, FeedPoint?) in
      let known = state.changes.line(from: revision, to: point.revision)
      guard !isWhole, known == nil, state.changes.hasLargeLine(),
        let end = state.points.blockEnd(from: revision, before: point.revision)
      else { return (known, nil) }
      return (state.changes.line(from: revision, to: end.revision), end)
    }
    if let known { return .line(known) }
    if let blockEnd, case .line(let line)? = change(from: revision, to: blockEnd) {
      return .line(line)
    }
    return change(from: revision, to: point)
      ?? (history.snapshot(at: revision) == nil ? .reset : status)
  }

  /// Returns a `change` line, or a status if an element cannot be encoded, or `nil` if there is no recorded change.
  private func change(from revision: Int, to point: FeedPoint) -> FeedStep? {
    guard let change = history.change(from: revision, to: point.revision) else { return nil }
    let changed = change.changeset.insertions + change.changeset.updates.map(\.to)
    for offset in changed {
      if let reason = change.after[offset].encodingFailure(key: key) {
        return .status(Self.failure(offset, reason))
      }
    }
    var buffer = LineBuffer()
    EventLine.append(change, token: token(of: point), to: &buffer)
    let line = Feed.Line(buffer, token: token(of: point), revision: point.revision)
    return .line(state.withLock { $0.changes.share(line, from: revision) })
  }

  func alive(at revision: Int, token: String) -> Feed.Line {
    var buffer = LineBuffer()
    EventLine.appendAlive(revision: revision, token: token, to: &buffer)
    return Feed.Line(buffer, token: token, revision: revision)
  }

  func line(for status: SourceStatus) -> Feed.Line {
    state.withLock { state in
      if let known = state.status, known.state == status.state { return known.line }
      let (name, message) = reported(status.state)
      var buffer = LineBuffer()
      EventLine.append(state: name, message: message, to: &buffer)
      let line = Feed.Line(buffer)
      state.status = (status.state, line)
      return line
    }
  }

  private static func failure(_ offset: Int, _ reason: String) -> SourceStatus {
    .failed(
      SourceError(
        code: "encoding",
        message: "the element \(offset) cannot be encoded: \(reason); the list is sent again "
          + "when all its elements can be encoded"))
  }
}

extension EventElement {
  /// The bytes that the fingerprint contains. An element that cannot be encoded has none, so it differs from all others.
  fileprivate var fingerprintBytes: [UInt8] { encodingFailure(key: nil) == nil ? json.utf8 : [] }
}

extension Feed.Line {
  fileprivate init(
    _ buffer: LineBuffer, token: String? = nil, revision: Int = 0,
    failure: SourceStatus.State? = nil
  ) {
    storage = Storage(buffer, token: token, revision: revision, failure: failure)
  }
}
