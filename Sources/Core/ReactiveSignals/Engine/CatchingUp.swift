import SwappablePrimitives

extension Node {
  /// Adds a derived node to its domain, and computes its first state.
  ///
  /// Passes that are published meanwhile are recorded for the node, and it catches up before it becomes
  /// live. The creator of the node calls this before anybody else knows the node.
  ///
  /// If other threads commit faster than the node computes, it would never catch up. After several steps
  /// the creator therefore becomes the delivering thread, and no further step follows.
  func catchUp() {
    let inputs = inputs
    let thread = ThreadID.current
    let delivers = domain.lock.withLock { state in
      state.catchingUp.append(self)
      for input in inputs { input.recordState() }
      return state.deliveringThread == thread
    }
    var replayed = 0
    var mustDeliver = false
    // This thread may become the delivering one meanwhile. A flush in a closure of the node must trap then,
    // so it always does.
    let context = ThreadContext.current
    let transaction = context.beginDelivery()
    while true {
      let released = domain.lock.withLock { state -> [Any]? in
        for input in inputs { input.takeRecorded() }
        mustDeliver = !delivers && state.deliveringThread == thread
        if inputs.contains(where: \.hasStep) { return nil }
        if state.successor == thread { state.successor = nil }
        becomeLive(&state)
        // From here on, a delivering thread may read the inputs.
        return inputs.map { $0.endReplay() }
      }
      if let released {
        withExtendedLifetime(released) {}
        break
      }
      while inputs.contains(where: \.hasStep) {
        for input in inputs { input.replayStep(composing: composesCommits) }
        compute()
        replayed += 1
        domain.lock.withLock { state in
          settle(&state)
          if replayed >= 32, !delivers, !mustDeliver {
            mustDeliver = state.claim(as: thread)
            if !mustDeliver, state.successor == nil { state.successor = thread }
          }
        }
        endPass()
      }
      domain.pause(at: .caughtUp)
    }
    context.endDelivery(transaction)
    if mustDeliver { domain.deliver(isClaimed: true) }
  }

  /// Records the updates of the inputs of this node in the current pass, under the lock. The node still
  /// joins.
  ///
  /// - Parameter pass: The number of the pass.
  func recordInputs(in pass: UInt64) {
    guard inputs.contains(where: { $0.node.isChanged || $0.node.hasChangedParts(in: pass) })
    else { return }
    for input in inputs { input.recordUpdate() }
  }

  private func becomeLive(_ state: inout Domain.State) {
    state.catchingUp.removeAll { $0 === self }
    for input in inputs { input.children(state.key).add(self, through: input) }
    if state.deliveringThread != nil { state.turnedLive.append(self) }
  }
}

/// A connection from a node to one that is derived from it.
///
/// While the derived node is live, an input shows the update of the current pass. While the derived node
/// joins, on its creator's thread, the input shows the updates that were recorded for it instead.
@usableFromInline
package final class NodeInput: @unchecked Sendable {
  // Sendable: `upstream` is set before the derived node exists, and `owner` and `part` are constant. The domain's lock
  // guards `slot` and `Replay.recorded`. The creator of the derived node owns the rest until that is live, and the
  // delivering thread from then on.

  /// The node upstream, which is in the domain of the derived node.
  // A stored property would be checked for exclusivity where another module reads it.
  @inlinable package var node: Node { upstream }
  @exclusivity(unchecked) @usableFromInline private(set) var upstream: Node
  /// An object that the input keeps alive, because it follows a boundary.
  private let owner: AnyObject?
  /// The part of the node that the input follows, or `nil` for the whole.
  private let part: Dependents?
  /// The position among the node's children, or -1.
  var slot = -1
  /// The steps to replay while the derived node is joining, and `nil` when it is live.
  @exclusivity(unchecked) @usableFromInline private(set) var replay: Replay? = Replay()

  /// - Parameters:
  ///   - node: The node upstream.
  ///   - owner: An object that the input must keep alive, because it follows a boundary.
  ///   - part: The part of the node that the input follows, or `nil` for the whole.
  @usableFromInline
  package init(_ node: Node, keeping owner: AnyObject? = nil, part: Dependents? = nil) {
    upstream = node
    self.owner = owner
    self.part = part
  }

  /// A Boolean value that indicates whether the input follows a part of the node.
  var isPart: Bool { part != nil }

  /// The list in which a node that follows this input is a child.
  func children(_ key: Domain.Key) -> Dependents { part ?? node.childList(key) }

  /// Connects the input to a node of a domain: the node itself, or a boundary to it.
  package func connect(in domain: Domain) {
    if node.domain !== domain { upstream = node.makeBoundary(in: domain) }
  }

  /// A Boolean value that indicates whether the derived node is live.
  @inlinable package var isLive: Bool { replay == nil }

  /// The update of the node in the current pass.
  @inlinable package var update: (any NodeUpdate)? {
    if let replay { return replay.current.update }
    return node.update
  }

  /// A Boolean value that indicates whether the update of the node changes its value or contents.
  @inlinable package var hasChange: Bool {
    if let replay { return replay.current.update?.hasChange == true }
    return node.hasChange
  }

  /// A Boolean value that indicates whether the update of the node changes its status.
  @inlinable package var isStatusStep: Bool {
    if let replay { return replay.current.update?.isStatusStep == true }
    return node.isStatusStep
  }

  /// The value of a signal in the current pass. For a new operator, this is the latest value.
  @inlinable var value: NodeState? {
    if let replay { return replay.isFirst ? replay.state : replay.current.update }
    return node.update
  }

  /// A Boolean value that indicates whether the signal ends in the current pass.
  @inlinable var ends: Bool {
    if let replay { return replay.current.ends }
    return node.ends
  }

  /// The state of the node, including the update of the current pass.
  @inlinable package var state: NodeState? {
    if let replay { return replay.state }
    return node.update?.state ?? node.published
  }

  // MARK: Steps for a node that joins

  /// The state before the first recorded step, or an update and the end of a pass.
  @usableFromInline
  struct Step: Sendable {
    @usableFromInline var update: (any NodeUpdate)?
    @usableFromInline var ends = false
  }

  /// The steps that were recorded for an input while its derived node joins.
  @usableFromInline
  final class Replay {
    /// Guarded by the domain's lock.
    var recorded: [Step] = []
    var steps: ArraySlice<Step> = []
    @usableFromInline var current = Step()
    /// The state, including the current step.
    @usableFromInline var state: NodeState?
    /// A Boolean value that indicates whether the current step is the first: a state, and no update.
    @usableFromInline var isFirst = false
    var hasBegun = false
  }

  /// Captures the published state as the first step, under the lock.
  func recordState() {
    guard let replay else { return }
    // It was not set before, so nothing is released here.
    replay.state = node.published
    replay.recorded.append(Step(ends: node.hasEnded))
  }

  /// Records the update of the current pass as a step, under the lock.
  func recordUpdate() { replay?.recorded.append(Step(update: node.update, ends: node.ends)) }

  /// Takes the recorded steps out, under the lock.
  func takeRecorded() {
    guard let replay, !replay.recorded.isEmpty else { return }
    replay.steps = replay.recorded[...]
    replay.recorded = []
  }

  /// A Boolean value that indicates whether a step waits to be replayed.
  var hasStep: Bool { replay?.steps.isEmpty == false }

  /// Shows the next step.
  ///
  /// - Parameter composing: A Boolean value that indicates whether all steps are composed into one.
  func replayStep(composing: Bool) {
    guard let replay else { return }
    // Releasing them may call code that records a step here, so they are released at the end.
    let released = (replay.current, replay.steps, replay.state)
    guard var step = replay.steps.popFirst() else {
      (replay.current, replay.isFirst) = (Step(), false)
      return withExtendedLifetime(released) {}
    }
    if composing {
      while let next = replay.steps.popFirst() {
        if let update = step.update, let following = next.update {
          step.update = update.composed(with: following)
        } else {
          step.update = next.update ?? step.update
        }
        step.ends = step.ends || next.ends
      }
    }
    if replay.steps.isEmpty { replay.steps = [] }
    (replay.isFirst, replay.hasBegun) = (!replay.hasBegun, true)
    if let update = step.update {
      replay.state = update.state
      // A new operator starts with the state, and follows no change.
      step.update = replay.isFirst ? nil : update.resolved()
    }
    replay.current = step
    withExtendedLifetime(released) {}
  }

  /// Shows the current pass from now on, under the lock.
  ///
  /// - Returns: Recorded values, to be released outside the lock.
  func endReplay() -> Any { replay.take() as Any }
}
