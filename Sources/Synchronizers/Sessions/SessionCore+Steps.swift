import Diffing
import ObservableCollections
import ReactiveSignals

extension SessionCore {
  typealias Pending = PendingPush<Element, Version>

  func begin(_ step: SynchronizationStep) {
    if status.value != .synchronizing(step) { status.value = .synchronizing(step) }
  }

  func checkCancellation(
    at step: SynchronizationStep?
  ) throws(SynchronizationError) {
    if Task.isCancelled { throw .cancelled(at: step) }
  }

  func saveStep() async throws(SynchronizationError) {
    guard store != nil else { return }
    begin(.saving)
    try await save()
  }

  func fetch(
    unlessAt version: Version?
  ) async throws(SynchronizationError) -> RemoteContents<Element, Version>? {
    begin(.fetching)
    try checkCancellation(at: .fetching)
    let contents: RemoteContents<Element, Version>?
    do {
      contents = try await options.retry.run(by: options.clock) {
        try await remote.fetch(unlessAt: version)
      }
    } catch {
      if Task.isCancelled { throw .cancelled(at: .fetching, underlying: error) }
      throw SynchronizationError(
        .fetch, at: .fetching,
        "\(name(of: remote)) could not be read: \(error); nothing was changed: synchronise again "
          + "when it can be reached",
        underlying: error)
    }
    if contents == nil, version == nil {
      throw SynchronizationError(
        .invalidAnswer, at: .fetching,
        "\(name(of: remote)) has answered that it is still at a version, though it was asked "
          + "without one; its fetch(unlessAt:) must return contents where it is given nil")
    }
    return contents
  }

  /// Repeats a push of which it is not known whether it has arrived, if there is one.
  ///
  /// Where it is accepted, the client is told of it with the next change.
  ///
  /// - Returns: What did not go together with edits made since.
  func settle() async throws(SynchronizationError) -> [ResolvedConflict<Element>] {
    let state = capture().state
    guard let push = state.push else { return [] }
    guard case .accepted(let version) = try await send(push, before: nil) else {
      remember { $0.push = nil }
      return []
    }
    let now = capture()
    let merge = Self.rebase(now.state.client, from: push.client, onto: push.merged)
    let target = merge.mergedSnapshot
    let delay =
      target.hasSameContents(as: now.client) ? nil : Delay(from: now.client, to: target)
    remember { $0 = Memory(shadow: push.merged, version: version, delay: delay) }
    try await saveStep()
    return merge.conflicts
  }

  /// Saves that a push may be under way, and pushes.
  func push(
    _ push: Pending, before: Snapshot<Element>
  ) async throws(SynchronizationError) -> PushAnswer<Version> {
    try checkCancellation(at: .merging)
    remember { $0.push = push }
    do {
      try await saveStep()
      try checkCancellation(at: .pushing)
    } catch {
      // It was not begun.
      remember { $0.push = nil }
      throw error
    }
    return try await send(push, before: before)
  }

  private func send(
    _ push: Pending, before: Snapshot<Element>?
  ) async throws(SynchronizationError) -> PushAnswer<Version> {
    begin(.pushing)
    try checkCancellation(at: .pushing)
    let request = RemotePush(
      id: push.id, version: push.version, before: before, after: push.merged)
    let answer: Result<PushAnswer<Version>, PushRejection>
    do {
      answer = try await options.retry.run(by: options.clock) {
        // There is no sense in trying that again.
        do { return .success(try await remote.push(request)) } catch let error as PushRejection {
          return .failure(error)
        }
      }
    } catch {
      if Task.isCancelled { throw .cancelled(at: .pushing, underlying: error) }
      throw SynchronizationError(
        .push, at: .pushing,
        "\(name(of: remote)) has not answered a push: \(error); the next synchronisation repeats "
          + "it: synchronise again when it can be reached",
        underlying: error)
    }
    do {
      return try answer.get()
    } catch {
      remember { $0.push = nil }
      throw SynchronizationError(
        .rejected, at: .pushing,
        "\(name(of: remote)) does not take what was edited: \(error); client and remote are as "
          + "they were: edit the client so that it can be taken",
        underlying: error)
    }
  }

  func movedOn(_ count: Int) -> SynchronizationError {
    SynchronizationError(
      .movedOn, at: .pushing,
      "\(name(of: remote)) has refused \(count) pushes in one synchronisation, as it had moved on "
        + "each time; synchronise again when fewer clients do, or raise mergeLimit")
  }
}
