import Diffing
import ObservableCollections
import ReactiveSignals

extension SessionCore {
  typealias PendingPush = State.PendingPush

  func begin(_ step: Session.Step) {
    if status.value != .synchronizing(step) { status.value = .synchronizing(step) }
  }

  func checkCancellation(
    at step: Session.Step?
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
        "cannot read \(name(of: remote)): \(error); nothing has changed: synchronize again when "
          + "it can be reached",
        underlying: error)
    }
    if contents == nil, version == nil {
      throw SynchronizationError(
        .invalidAnswer, at: .fetching,
        "\(name(of: remote)) returned nil from fetch(unlessAt: nil); it must return its contents "
          + "if the session has no version")
    }
    return contents
  }

  /// Repeats a push whose answer is unknown.
  ///
  /// If the remote accepts it, the client receives its changes with the next synchronization.
  ///
  /// - Returns: The conflicts with edits that were made since the push.
  func repeatPendingPush() async throws(SynchronizationError) -> [Resolved] {
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

  /// Saves the pending push, and then pushes.
  func push(
    _ push: PendingPush, before: Snapshot<Element>
  ) async throws(SynchronizationError) -> RemotePush<Element, Version>.Answer {
    try checkCancellation(at: .merging)
    remember { $0.push = push }
    do {
      try await saveStep()
      try checkCancellation(at: .pushing)
    } catch {
      // The push did not begin.
      remember { $0.push = nil }
      throw error
    }
    return try await send(push, before: before)
  }

  private func send(
    _ push: PendingPush, before: Snapshot<Element>?
  ) async throws(SynchronizationError) -> RemotePush<Element, Version>.Answer {
    begin(.pushing)
    try checkCancellation(at: .pushing)
    let request = RemotePush(
      id: push.id, version: push.version, before: before, after: push.merged)
    let answer: RemotePush<Element, Version>.Answer
    do {
      answer = try await options.retry.run(by: options.clock) { try await remote.push(request) }
    } catch {
      if Task.isCancelled { throw .cancelled(at: .pushing, underlying: error) }
      throw SynchronizationError(
        .push, at: .pushing,
        "\(name(of: remote)) did not answer a push: \(error); the next synchronization repeats "
          + "the push: synchronize again when it can be reached",
        underlying: error)
    }
    guard case .rejected(let reason, let underlying) = answer else { return answer }
    remember { $0.push = nil }
    throw SynchronizationError(
      .rejected, at: .pushing,
      "\(name(of: remote)) rejected the edits: \(reason); the client and the remote are "
        + "unchanged: correct the client",
      underlying: underlying)
  }

  func movedOn(_ count: Int) -> SynchronizationError {
    SynchronizationError(
      .movedOn, at: .pushing,
      "\(name(of: remote)) moved on before each of \(count) pushes; synchronize again when fewer "
        + "clients push, or raise mergeLimit")
  }
}
