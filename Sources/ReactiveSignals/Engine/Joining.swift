import SwappablePrimitives

extension GraphNode {
  /// Makes a derived node part of its domain, and computes its first state.
  ///
  /// Passes that are published meanwhile are recorded for the node, and it catches up before it becomes
  /// live. The creator of the node calls this before anybody else knows the node.
  ///
  /// If other threads commit faster than the node computes, it would never catch up. After several steps
  /// the creator therefore becomes the delivering thread, and no further step follows.
  package func join() {
    let inputs = place.inputs
    let thread = ThreadID.current
    let delivers = domain.lock.withLock { state in
      state.joining.append(self)
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
        for input in inputs { input.replayStep(composing: place.composesCommits) }
        if replayed == 0 { computeFirst() } else { compute() }
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

  private func becomeLive(_ state: inout Domain.State) {
    if let index = state.joining.firstIndex(where: { $0 === self }) {
      state.joining.remove(at: index)
    }
    for input in place.inputs { input.node.place.add(self, through: input) }
    if state.deliveringThread != nil { state.turnedLive.append(self) }
  }
}

/// A typed connection from a node to one that is derived from it.
///
/// While the derived node is live, an input shows the update of the current pass. While the derived
/// node joins, on its creator's thread, the input shows the updates that were recorded for it
/// instead.
package protocol NodeInput: AnyObject, Sendable {
  /// The node upstream, which is in the domain of the derived node.
  var node: any GraphNode { get }
  /// The position among the node's children, or -1. The domain's lock guards it.
  var slot: Int { get set }

  /// Captures the published state as the first step, under the lock.
  func recordState()
  /// Records the update of the current pass as a step, under the lock.
  func recordUpdate()
  /// Takes the recorded steps out, under the lock.
  func takeRecorded()

  /// A Boolean value that indicates whether a step waits to be replayed.
  var hasStep: Bool { get }
  /// Shows the next step.
  ///
  /// - Parameter composing: A Boolean value that indicates whether all steps are composed into one.
  func replayStep(composing: Bool)
  /// Shows the current pass from now on, under the lock.
  ///
  /// - Returns: Recorded values, to be released outside the lock.
  func endReplay() -> Any
}

/// The steps that are recorded for an input while its derived node joins.
package final class RecordedSteps<Step: Sendable>: @unchecked Sendable {
  // Sendable: the domain's lock guards `recorded`. The creator of the derived node owns the rest.

  private var recorded: [Step] = []
  private var steps: ArraySlice<Step> = []
  /// The step that is being replayed. It is owned like `steps`.
  package var current: Step?

  package init() {}

  package var hasStep: Bool { !steps.isEmpty }

  package func record(_ step: Step) { recorded.append(step) }

  package func takeRecorded() {
    if recorded.isEmpty { return }
    steps = recorded[...]
    recorded = []
  }

  /// Replays the next step.
  ///
  /// - Parameter compose: A closure that composes a step with the next one, if all are replayed as one.
  /// - Returns: Steps that were replayed before. Releasing them may call code that records a step here, so
  ///   the caller releases them after this call.
  package func next(composing compose: ((Step, Step) -> Step)?) -> Any {
    let replayed = (current, steps)
    guard let first = steps.popFirst() else {
      current = nil
      return replayed
    }
    if let compose {
      current = steps.reduce(first, compose)
      steps = []
    } else {
      current = first
      if steps.isEmpty { steps = [] }
    }
    return replayed
  }
}
